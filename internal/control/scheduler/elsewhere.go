package scheduler

import (
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// Elsewhere returns why new tasks in the places of others would fit on no node, by the others' task ids. They are
// planned together, after the tasks that wait already: what is not refused would all be placed now.
func (s *Scheduler) Elsewhere(snapshot records.Snapshot, others []*api.Task) map[string]placement.Refusal {
	next := make([]placement.Task, 0, len(others))
	for _, task := range others {
		demand := s.demands.of(snapshot, task)
		next = append(next, placement.Task{
			ID: task.ID, Workload: task.Owner().String(), Demand: demand.Demand, Volumes: demand.at(task),
			Toward: destination(snapshot, task.Owner(), task.ID),
		})
	}
	out := map[string]placement.Refusal{}
	s.ask(snapshot, func(survey *placement.Survey) {
		for _, refused := range survey.Refuse(next) {
			out[refused.Task] = refused
		}
	})
	return out
}

func (s *Scheduler) ask(snapshot records.Snapshot, ask func(*placement.Survey)) {
	s.surveyed.ask(snapshot.Revision(), ask, func() *placement.Survey {
		in := s.observe(snapshot)
		return placement.NewSurvey(in.tasks, in.nodes, in.homes)
	})
}

// surveyed caches the newest survey: while a node is lost, every workload with a task on it asks.
type surveyed struct {
	mu       sync.Mutex
	revision int64
	survey   *placement.Survey
}

func (s *surveyed) ask(revision int64, ask func(*placement.Survey), survey func() *placement.Survey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.survey == nil || s.revision != revision {
		s.survey, s.revision = survey(), revision
	}
	ask(s.survey)
}
