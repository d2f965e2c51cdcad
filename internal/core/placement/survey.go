package placement

import "slices"

// Survey answers what would become of more tasks. It is made once for many questions; only one may be asked at a time.
type Survey struct {
	cluster *cluster
}

// NewSurvey returns the survey of nodes with what is on them, and with the tasks that wait placed as Plan places them.
func NewSurvey(tasks []Task, nodes []Node) *Survey {
	c := survey(tasks, nodes)
	for _, t := range c.waiting {
		if site := c.best(t); site != nil {
			site.take(t)
		}
	}
	return &Survey{cluster: c}
}

// Refuse returns the refusals if tasks came now, all of them together. They stay in the survey for no longer than that.
func (s *Survey) Refuse(tasks []Task) []Refusal {
	var refused []Refusal
	var undo []func()
	for _, t := range tasks {
		site := s.cluster.best(t)
		if site == nil {
			refused = append(refused, s.cluster.refuse(t))
			continue
		}
		site.take(t)
		undo = append(undo, func() { site.untake(t) })
	}
	for _, each := range slices.Backward(undo) {
		each()
	}
	return refused
}

// untake takes back the last take.
func (s *site) untake(t Task) {
	if !t.Leaving {
		s.tasks--
		s.workloads[t.Workload]--
	}
	for _, p := range slices.Backward(t.Ports) {
		s.held[p.Number] = s.held[p.Number][:len(s.held[p.Number])-1]
	}
}
