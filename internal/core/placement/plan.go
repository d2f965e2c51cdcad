package placement

import (
	"cmp"
	"slices"

	"tend.dev/tend/internal/core/ports"
)

// Plan places every task that has no node, and refuses those that fit nowhere. Older tasks choose first.
func Plan(tasks []Task, nodes []Node) ([]Assignment, []Refusal) {
	c := survey(tasks, nodes)
	var placed []Assignment
	var refused []Refusal
	for _, t := range c.waiting {
		site := c.best(t)
		if site == nil {
			refused = append(refused, c.refuse(t))
			continue
		}
		site.take(t)
		placed = append(placed, Assignment{Task: t.ID, Node: site.ID})
	}
	return placed, refused
}

// cluster is the nodes with what is on them.
type cluster struct {
	sites   []*site // by id
	waiting []Task  // oldest first
}

// site is a node with what is on it.
type site struct {
	Node
	tasks     int            // live ones
	workloads map[string]int // live ones, by workload
	held      map[int][]hold // by port number
}

type hold struct {
	ports.Port
	by Task
}

func survey(tasks []Task, nodes []Node) *cluster {
	c := &cluster{}
	byID := map[string]*site{}
	for _, n := range nodes {
		s := &site{Node: n, workloads: map[string]int{}, held: map[int][]hold{}}
		byID[n.ID] = s
		c.sites = append(c.sites, s)
	}
	slices.SortFunc(c.sites, func(a, b *site) int { return cmp.Compare(a.ID, b.ID) })
	tasks = slices.Clone(tasks)
	slices.SortFunc(tasks, func(a, b Task) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, t := range tasks {
		s := byID[t.Node]
		switch {
		case t.Stopped || t.Leaving && t.Node == "":
		case t.Node == "":
			c.waiting = append(c.waiting, t)
		case s != nil:
			s.take(t)
		}
	}
	return c
}

func (s *site) take(t Task) {
	if !t.Leaving {
		s.tasks++
		s.workloads[t.Workload]++
	}
	for _, p := range t.Ports {
		s.held[p.Number] = append(s.held[p.Number], hold{Port: p, by: t})
	}
}

// best returns the node a task should run on, or nil.
func (c *cluster) best(t Task) *site {
	var best *site
	for _, s := range c.sites {
		if s.refuses(t) == nil && (best == nil || s.better(best, t)) {
			best = s
		}
	}
	return best
}

func (s *site) better(than *site, t Task) bool {
	if mine, others := s.workloads[t.Workload], than.workloads[t.Workload]; mine != others {
		return mine < others
	}
	return s.load() < than.load()
}

// load returns the tasks per core.
func (s *site) load() float64 {
	if s.CPUs <= 0 {
		return float64(s.tasks)
	}
	return float64(s.tasks) / s.CPUs
}
