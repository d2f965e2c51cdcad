package placement

import (
	"cmp"
	"container/heap"
)

// classKey names the tasks that ask for the same.
type classKey struct {
	workload string
	demand   *Demand
}

// class is the tasks that ask for the same, with the nodes that may take one of them.
type class struct {
	// groups are the nodes by the value of the attribute that the tasks are spread over; without one they are one group.
	groups []*group
	// refused is the refusal of an earlier task, if nothing can change it.
	refused *Refusal
}

// group is a heap of nodes, the best first.
//
// While tasks are placed, every node's score only gets worse. So a score that was computed earlier is a lower bound,
// and a node whose bound is the lowest and still exact is the best: only the nodes on top have to be scored again.
type group struct {
	value      string
	candidates []candidate
}

type candidate struct {
	*site
	score score
}

// best returns the node a task should run on, or nil: that of its data, the one it moves to, or the one that suits it
// best.
func (c *cluster) best(t Task) *site {
	if home, settled := c.home(t); settled {
		if s := c.byID[home]; s != nil && c.refuses(s, t) == nil {
			return s
		}
		return nil
	}
	if s := c.byID[t.Toward]; s != nil && c.refuses(s, t) == nil {
		return s
	}
	if t.particular() {
		return c.scan(t)
	}
	of := c.class(t)
	if of.refused != nil {
		return nil
	}
	return of.best(c, t)
}

// particular reports whether what a task asks for depends on more than its class.
func (t Task) particular() bool {
	exempt := len(t.Ports) > 0 || t.ReservedMemory > 0 || t.ReservedCPUs > 0 || len(t.Rules.Apart) > 0
	return len(t.Volumes) > 0 || t.Replaces+t.After != "" && exempt
}

// scan returns the best of all nodes.
func (c *cluster) scan(t Task) *site {
	var best candidate
	for _, s := range c.sites {
		if c.refuses(s, t) != nil {
			continue
		}
		next := candidate{s, c.scoreOf(s, t)}
		if best.site == nil || next.before(best) {
			best = next
		}
	}
	return best.site
}

func (c *cluster) class(t Task) *class {
	key := classKey{t.Workload, t.Demand}
	if known := c.classes[key]; known != nil {
		return known
	}
	of, byValue := &class{}, map[string]*group{}
	for _, s := range c.sites {
		if f := c.refuses(s, t); f != nil && !f.passing {
			continue
		}
		value := s.Attributes[t.Rules.Spread]
		if byValue[value] == nil {
			byValue[value] = &group{value: value}
			of.groups = append(of.groups, byValue[value])
		}
		byValue[value].candidates = append(byValue[value].candidates, candidate{s, s.score(t)})
	}
	for _, g := range of.groups {
		heap.Init(g)
	}
	c.classes[key] = of
	return of
}

func (k *class) best(c *cluster, t Task) *site {
	var best candidate
	for _, g := range k.groups {
		top, ok := g.best(c, t)
		if !ok {
			continue
		}
		if t.Rules.Spread != "" {
			top.score.spread = c.spread(t)[g.value]
		}
		if best.site == nil || top.before(best) {
			best = top
		}
	}
	return best.site
}

// best returns the best node of the group that takes the task, with its score apart from the spread.
func (g *group) best(c *cluster, t Task) (top candidate, ok bool) {
	var aside []candidate
	for len(g.candidates) > 0 && !ok {
		top = g.candidates[0]
		if now := top.site.score(t); now != top.score {
			g.candidates[0].score = now
			heap.Fix(g, 0)
			continue
		}
		f := c.refuses(top.site, t)
		if ok = f == nil; ok {
			break
		}
		heap.Pop(g)
		if f.passing {
			aside = append(aside, top)
		}
	}
	for _, each := range aside {
		heap.Push(g, each)
	}
	return top, ok
}

func (a candidate) before(b candidate) bool {
	if a.score != b.score {
		return a.score.compare(b.score) < 0
	}
	return a.ID < b.ID
}

// score rates a node for a task; the lowest is the best: room on its disk first, then preferences, then the spread
// over an attribute and over the nodes, then the load.
type score struct {
	full          int    // 1 if the disk is
	unmet         uint64 // one bit for each preference, the first one highest
	spread, tasks int
	load          int64
}

func (a score) compare(b score) int {
	return cmp.Or(a.full-b.full, cmp.Compare(a.unmet, b.unmet), cmp.Compare(a.spread, b.spread),
		cmp.Compare(a.tasks, b.tasks), cmp.Compare(a.load, b.load))
}

// worse reports whether a task would lose what its node's spread and load don't make up for.
func (a score) worse(b score) bool { return a.full > b.full || a.unmet > b.unmet }

// score returns a node's score apart from the spread.
func (s *site) score(t Task) score {
	out := score{tasks: s.workloads[t.Workload], load: s.load}
	if s.DiskFull {
		out.full = 1
	}
	for i, preference := range t.Rules.Preferences {
		if !preference.Holds(s.Node) {
			out.unmet |= 1 << (63 - i)
		}
	}
	return out
}

type spreadKey struct{ workload, attribute string }

// spread counts the live tasks of the workload by the values of the attribute that they are spread over.
func (c *cluster) spread(t Task) map[string]int {
	key := spreadKey{t.Workload, t.Rules.Spread}
	if known := c.spreads[key]; known != nil {
		return known
	}
	counts := map[string]int{}
	for _, s := range c.sites {
		counts[s.Attributes[key.attribute]] += s.workloads[t.Workload]
	}
	c.spreads[key] = counts
	return counts
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (g *group) Len() int           { return len(g.candidates) }
func (g *group) Less(i, j int) bool { return g.candidates[i].before(g.candidates[j]) }
func (g *group) Swap(i, j int)      { g.candidates[i], g.candidates[j] = g.candidates[j], g.candidates[i] }
func (g *group) Push(x any)         { g.candidates = append(g.candidates, x.(candidate)) }
func (g *group) Pop() any {
	last := len(g.candidates) - 1
	x := g.candidates[last]
	g.candidates = g.candidates[:last]
	return x
}
