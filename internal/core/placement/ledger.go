package placement

import (
	"cmp"
	"maps"
	"slices"
)

// Ledger is nodes with what is on them, and the tasks that wait for one. It is kept up to date as they change, so a
// question costs what has changed since the last one, not what there is. It is for one goroutine at a time; NewLedger
// returns an empty one.
type Ledger struct {
	cluster
	nodes map[string]Node
	homes map[string]string
	// waits and keeps are the ids of the tasks that wait, and of those that have volumes.
	waits, keeps map[string]bool
	// answer is the newest plan, whose tasks are on the nodes until something changes; nil if there is none.
	answer *answer
}

// answer is the decision of a plan.
type answer struct {
	placed  []Assignment
	refused []Refusal
	taken   []taken
}

// taken is a task that was put on a node for as long as a question takes.
type taken struct {
	*site
	by Task
}

// NewLedger returns a ledger without nodes and tasks.
func NewLedger() *Ledger {
	return &Ledger{
		cluster: cluster{
			byID: map[string]*site{}, tasks: map[string]*Task{}, given: map[string]string{},
			classes: map[classKey]*class{}, takers: map[classKey]takers{}, spreads: map[spreadKey]map[string]int{},
		},
		nodes: map[string]Node{}, waits: map[string]bool{}, keeps: map[string]bool{},
	}
}

// SetHomes sets the nodes that have what is kept in volumes, by the volumes' names. The map belongs to the ledger then.
func (l *Ledger) SetHomes(homes map[string]string) {
	l.unplace()
	l.homes = homes
}

// Homes returns where the data of volumes is: where SetHomes said, or else where a task has used it.
func (l *Ledger) Homes() map[string]string {
	homes := make(map[string]string, len(l.homes))
	maps.Copy(homes, l.homes)
	for _, id := range sortedKeys(l.keeps) {
		task := l.tasks[id]
		for _, volume := range task.Volumes {
			if _, known := homes[volume]; !known && task.Node != "" {
				homes[volume] = task.Node
			}
		}
	}
	return homes
}

// PutNode adds a node, or replaces what is known of it.
func (l *Ledger) PutNode(n Node) {
	l.unplace()
	l.nodes[n.ID] = n
	if s := l.byID[n.ID]; s != nil && s.CPUs == n.CPUs && s.MemoryBytes == n.MemoryBytes {
		s.Node = n
		return
	}
	s := newSite(n)
	at, known := l.find(n.ID)
	if known {
		l.sites[at] = s
	} else {
		l.sites = slices.Insert(l.sites, at, s)
	}
	l.byID[n.ID] = s
	for _, t := range l.tasks {
		if t.Node == n.ID && !t.Stopped {
			s.take(*t)
		}
	}
}

// RemoveNode removes a node. The tasks that are on it stay known.
func (l *Ledger) RemoveNode(id string) {
	l.unplace()
	if at, known := l.find(id); known {
		l.sites = slices.Delete(l.sites, at, at+1)
	}
	delete(l.nodes, id)
	delete(l.byID, id)
}

func (l *Ledger) find(id string) (int, bool) {
	return slices.BinarySearchFunc(l.sites, id, func(s *site, id string) int { return cmp.Compare(s.ID, id) })
}

// Node returns what is known of a node.
func (l *Ledger) Node(id string) (Node, bool) {
	n, known := l.nodes[id]
	return n, known
}

// Nodes returns all nodes, by id.
func (l *Ledger) Nodes() []Node {
	out := make([]Node, len(l.sites))
	for i, s := range l.sites {
		out[i] = s.Node
	}
	return out
}

// Tasks returns all tasks, by id.
func (l *Ledger) Tasks() []Task {
	out := make([]Task, 0, len(l.tasks))
	for _, id := range sortedKeys(l.tasks) {
		out = append(out, *l.tasks[id])
	}
	return out
}

// PutTask adds a task, or replaces what is known of it.
func (l *Ledger) PutTask(t Task) {
	l.RemoveTask(t.ID)
	t = t.demanding()
	l.tasks[t.ID] = &t
	if s := l.byID[t.Node]; s != nil && !t.Stopped {
		s.take(t)
	}
	if t.waits() {
		l.waits[t.ID] = true
	}
	if len(t.Volumes) > 0 {
		l.keeps[t.ID] = true
	}
}

// RemoveTask removes a task.
func (l *Ledger) RemoveTask(id string) {
	l.unplace()
	t := l.tasks[id]
	if t == nil {
		return
	}
	if s := l.byID[t.Node]; s != nil && !t.Stopped {
		s.untake(*t)
	}
	delete(l.tasks, id)
	delete(l.waits, id)
	delete(l.keeps, id)
}

// Waiting reports whether a task waits for a node.
func (l *Ledger) Waiting() bool { return len(l.waits) > 0 }

// Plan places every task that has no node, and refuses those that fit nowhere. Older tasks choose first. What it
// returns is not to be changed.
func (l *Ledger) Plan() ([]Assignment, []Refusal) {
	if l.answer == nil {
		l.begin()
		l.answer = &answer{}
		for _, t := range l.waiting() {
			if s := l.place(t); s != nil {
				l.answer.placed = append(l.answer.placed, Assignment{Task: t.ID, Node: s.ID})
				l.answer.taken = append(l.answer.taken, taken{s, t})
			} else {
				l.answer.refused = append(l.answer.refused, l.refuse(t))
			}
		}
	}
	return l.answer.placed, l.answer.refused
}

// waiting returns the tasks that wait, the oldest first.
func (l *Ledger) waiting() []Task {
	out := make([]Task, 0, len(l.waits))
	for id := range l.waits {
		out = append(out, *l.tasks[id])
	}
	slices.SortFunc(out, func(a, b Task) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// begin forgets what earlier questions worked out.
func (l *Ledger) begin() {
	l.cluster.homes = l.Homes()
	clear(l.given)
	clear(l.takers)
	l.awaited = slices.ContainsFunc(l.sites, func(s *site) bool { return s.Awaited })
	l.forget()
}

// unplace takes the tasks of the newest plan off their nodes: something changes.
func (l *Ledger) unplace() {
	if l.answer == nil {
		return
	}
	for _, t := range slices.Backward(l.answer.taken) {
		t.untake(t.by)
	}
	l.answer = nil
	clear(l.given)
}
