package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// Move is a placed task that should run on another node.
type Move struct{ Task, From, To, Why string }

// Rebalance returns the moves that level the nodes. A task moves where its workload has at least two tasks less; if no
// such move is left, where the load of two nodes becomes more alike by at least half of what the task uses. It moves
// only to a node that would take it now, meets no fewer preferences and has room on its disk if the node it leaves has,
// and never off a node that does not answer, is cordoned or gives up its tasks anyway. Only movable tasks move; those
// that wait for a node are left to Plan.
//
// Each step lowers a sum that no later step raises: the squared numbers of a workload's tasks, or else the load of the
// fuller of two nodes. So the steps end, and once the moves are made, Rebalance returns none.
func Rebalance(tasks []Task, nodes []Node, homes map[string]string, movable func(Task) bool) []Move {
	all := survey(tasks, nodes, homes)
	all.begin()
	l := &leveling{cluster: &all.cluster, besides: map[string]bool{}, moves: map[string]*Move{}}
	for _, t := range tasks {
		if t.Node == "" || t.Stopped || t.Leaving {
			continue
		}
		t = t.demanding()
		for _, workload := range t.Rules.Beside {
			l.besides[workload] = true
		}
		if l.byID[t.Node] != nil && movable(t) {
			t.Replaces, t.After = "", ""
			l.movable = append(l.movable, t)
		}
	}
	slices.SortFunc(l.movable, func(a, b Task) int { // the youngest first: it has run the least
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	for l.sweep(spreads) || l.sweep(lightens) {
	}
	out := make([]Move, 0, len(l.moves))
	for _, t := range l.movable {
		if m := l.moves[t.ID]; m != nil && m.From != m.To {
			out = append(out, *m)
		}
	}
	return out
}

// leveling is a cluster whose tasks move, one after another.
type leveling struct {
	*cluster
	movable []Task
	// besides are the workloads that others stand beside.
	besides map[string]bool
	moves   map[string]*Move // by task
}

// rule reports whether a task should go from one node to another, with the reason. Its scores are those of the nodes
// without it.
type rule func(t Task, from, to candidate) (why string, better bool)

// sweep moves every task once where the rule says so, and reports whether one moved.
func (l *leveling) sweep(better rule) (moved bool) {
	for i, t := range l.movable {
		from := l.byID[t.Node]
		if !l.lets(from, t) {
			continue
		}
		l.shift(from, t, -1)
		to, why := l.target(t, from, better)
		l.shift(to, t, 1)
		if to == from {
			continue
		}
		moved = true
		l.movable[i].Node = to.ID
		if l.moves[t.ID] == nil {
			l.moves[t.ID] = &Move{Task: t.ID, From: from.ID}
		}
		l.moves[t.ID].To, l.moves[t.ID].Why = to.ID, why
	}
	return moved
}

// lets reports whether a node may give a task away: others that stand beside its workload keep the last one of it.
func (l *leveling) lets(from *site, t Task) bool {
	last := l.besides[t.Workload] && from.workloads[t.Workload] == 1
	return from.Alive && !from.Unheard && from.Ready && !from.Cordoned && !last &&
		Misplaced(from.Node, t.Need, t.Rules) == ""
}

// target returns the best node for a task that was taken off from, and why; from itself if none is better.
func (l *leveling) target(t Task, from *site, better rule) (*site, string) {
	here, best, why := candidate{from, l.scoreOf(from, t)}, candidate{}, ""
	for _, s := range l.sites {
		if s == from || s.Unheard { // nothing has to move to where nothing may run
			continue
		}
		next := candidate{s, l.scoreOf(s, t)}
		says, ok := better(t, here, next)
		if ok && (best.site == nil || next.before(best)) && l.refuses(s, t) == nil {
			best, why = next, says
		}
	}
	if best.site == nil {
		return from, ""
	}
	return best.site, why
}

// spreads is the rule of a workload's spread, over an attribute and over the nodes.
func spreads(t Task, from, to candidate) (why string, better bool) {
	switch {
	case to.score.worse(from.score) || to.score.spread > from.score.spread:
		return "", false
	case to.score.spread < from.score.spread:
		by := t.Rules.Spread
		return fmt.Sprintf("%d pods of it have %s %s, %d have %s", from.score.spread+1, by, from.Attributes[by],
			to.score.spread, to.Attributes[by]), true
	}
	return fmt.Sprintf("%s has %d pods of it, %s has %d", from.ID, from.score.tasks+1, to.ID, to.score.tasks),
		to.score.tasks < from.score.tasks
}

// lightens is the rule of the load, between nodes that are equal to the workload's spread.
func lightens(t Task, from, to candidate) (why string, better bool) {
	if to.score.worse(from.score) || to.score.spread != from.score.spread || to.score.tasks != from.score.tasks {
		return "", false
	}
	was, will := from.share(t), to.share(t)
	return fmt.Sprintf("%s has more to do than %s", from.ID, to.ID),
		to.score.load+will+max(was, will)/2 <= from.score.load+was
}

// scoreOf returns a node's score with the spread.
func (c *cluster) scoreOf(s *site, t Task) score {
	out := s.score(t)
	if t.Rules.Spread != "" {
		out.spread = c.spread(t)[s.Attributes[t.Rules.Spread]]
	}
	return out
}

// shift puts a task on a node, or with -1 takes it off, and keeps the counts of the spread.
func (c *cluster) shift(s *site, t Task, sign int) {
	if sign > 0 {
		s.take(t)
	} else {
		s.untake(t)
	}
	if counts := c.spreads[spreadKey{t.Workload, t.Rules.Spread}]; counts != nil {
		counts[s.Attributes[t.Rules.Spread]] += sign
	}
}
