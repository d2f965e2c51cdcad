package placement

import (
	"maps"
	"slices"
)

// Survey answers what would become of more tasks. It is made once for many questions; only one may be asked at a time.
type Survey struct {
	cluster *cluster
}

// NewSurvey returns the survey of nodes with what is on them, and with the tasks that wait placed as Plan places them.
func NewSurvey(tasks []Task, nodes []Node, homes map[string]string) *Survey {
	c := survey(tasks, nodes, homes)
	c.placeAll()
	return &Survey{cluster: c}
}

// Refuse returns the refusals if tasks came now, all of them together. They stay in the survey for no longer than that.
func (s *Survey) Refuse(tasks []Task) (refused []Refusal) {
	c := s.cluster
	homes := c.homes
	c.homes = maps.Clone(homes)
	c.forget()
	type taken struct {
		*site
		by Task
	}
	var placed []taken
	for _, t := range tasks {
		t = t.demanding()
		if on := c.place(t); on != nil {
			placed = append(placed, taken{on, t})
		} else {
			refused = append(refused, c.refuse(t))
		}
	}
	for _, t := range slices.Backward(placed) {
		t.untake(t.by)
	}
	c.homes = homes
	c.forget()
	return refused
}

// Takes reports whether a node would take a task now.
func (s *Survey) Takes(t Task, node string) bool {
	on := s.cluster.byID[node]
	return on != nil && s.cluster.refuses(on, t.demanding()) == nil
}

// forget drops what was computed from the tasks on the nodes: some are gone again.
func (c *cluster) forget() {
	clear(c.classes)
	clear(c.spreads)
}
