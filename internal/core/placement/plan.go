package placement

import (
	"cmp"
	"slices"
)

// Plan places every task that has no node, and refuses those that fit nowhere. Older tasks choose first. homes are the
// nodes that have what is kept in volumes, by the volumes' names.
func Plan(tasks []Task, nodes []Node, homes map[string]string) ([]Assignment, []Refusal) {
	c := survey(tasks, nodes, homes)
	return c.placeAll()
}

// cluster is the nodes with what is on them.
type cluster struct {
	sites   []*site // by id
	byID    map[string]*site
	waiting []Task // oldest first
	// homes are the nodes of volumes, those that were chosen just now too.
	homes map[string]string
	// yielding are the tasks that waiting ones replace, or come after.
	yielding map[string]Task
	classes  map[classKey]*class
	spreads  map[spreadKey]map[string]int
}

func survey(tasks []Task, nodes []Node, homes map[string]string) *cluster {
	c := &cluster{
		byID: make(map[string]*site, len(nodes)), homes: map[string]string{}, yielding: map[string]Task{},
		classes: map[classKey]*class{}, spreads: map[spreadKey]map[string]int{},
	}
	for _, n := range nodes {
		s := newSite(n)
		c.byID[n.ID] = s
		c.sites = append(c.sites, s)
	}
	slices.SortFunc(c.sites, func(a, b *site) int { return cmp.Compare(a.ID, b.ID) })
	for volume, node := range homes {
		c.homes[volume] = node
	}
	for _, t := range tasks {
		if t.waits() {
			c.waiting = append(c.waiting, t.demanding())
			c.yielding[t.Replaces], c.yielding[t.After] = Task{}, Task{}
		}
	}
	slices.SortFunc(c.waiting, func(a, b Task) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	c.occupy(tasks)
	return c
}

// occupy puts the placed tasks on their nodes.
func (c *cluster) occupy(tasks []Task) {
	for _, t := range tasks {
		if t.Node == "" || t.Stopped {
			continue
		}
		t = t.demanding()
		if s := c.byID[t.Node]; s != nil {
			s.take(t)
		}
		if _, yields := c.yielding[t.ID]; yields {
			c.yielding[t.ID] = t
		}
	}
}

func (c *cluster) placeAll() (placed []Assignment, refused []Refusal) {
	for _, t := range c.waiting {
		if s := c.place(t); s != nil {
			placed = append(placed, Assignment{Task: t.ID, Node: s.ID})
		} else {
			refused = append(refused, c.refuse(t))
		}
	}
	return placed, refused
}

// place puts a task on the best node, and returns it; nil if none takes it.
func (c *cluster) place(t Task) *site {
	s := c.best(t)
	if s == nil {
		return nil
	}
	c.shift(s, t, 1)
	if _, yields := c.yielding[t.ID]; yields {
		t.Node = s.ID
		c.yielding[t.ID] = t
	}
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
	if t.Demand == nil {
		t.Demand = nothing
	}
	return t
}
