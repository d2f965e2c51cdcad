package placement

import (
	"cmp"
	"maps"
	"slices"
)

// survey returns a ledger of nodes and tasks. homes are the nodes that have what is kept in volumes, by the volumes'
// names; for other volumes, it is where a task has used them.
func survey(tasks []Task, nodes []Node, homes map[string]string) *Ledger {
	l := NewLedger()
	for _, n := range nodes {
		l.PutNode(n)
	}
	for _, t := range tasks {
		l.PutTask(t)
	}
	l.SetHomes(homes)
	return l
}

// cluster is the nodes with what is on them.
type cluster struct {
	sites []*site // by id
	byID  map[string]*site
	tasks map[string]*Task
	// homes are the nodes of volumes, and given those of tasks that waited: those that were chosen just now.
	homes   map[string]string
	given   map[string]string
	classes map[classKey]*class
	spreads map[spreadKey]map[string]int
	// takers are the nodes that could take tasks of a class. awaited is set while a node is.
	takers  map[classKey]takers
	awaited bool
}

// yielding returns a task that a waiting one replaces, or comes after, as far as it holds something.
func (c *cluster) yielding(id string) Task {
	t := c.tasks[id]
	if t == nil || t.Stopped {
		return Task{}
	}
	yields := *t
	if node, placed := c.given[id]; placed {
		yields.Node = node
	}
	if yields.Node == "" {
		return Task{}
	}
	return yields
}

// place puts a task on the best node, and returns it; nil if none takes it.
func (c *cluster) place(t Task) *site {
	s := c.best(t)
	if s == nil {
		return nil
	}
	c.shift(s, t, 1)
	c.given[t.ID] = s.ID
	for _, volume := range t.Volumes {
		if _, known := c.homes[volume]; !known {
			c.homes[volume] = s.ID
		}
	}
	return s
}

// waits reports whether the task asks for a node.
func (t Task) waits() bool { return t.Node == "" && !t.Stopped && !t.Leaving }

var nothing = &Demand{}

// demanding returns the task with a Demand that is not nil.
func (t Task) demanding() Task {
	t.Demand = cmp.Or(t.Demand, nothing)
	return t
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
