package scheduler

import (
	"math"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// Elsewhere returns why new tasks in the places of others would fit on no node, by the others' task ids. They are
// planned together, after the tasks that wait already: what is not refused would all be placed now.
func (s *Scheduler) Elsewhere(snapshot records.Snapshot, others []*api.Task) map[string]placement.Refusal {
	tasks, _ := s.tasks(snapshot)
	ids := make(map[string]string, len(others))
	for _, task := range others {
		demand := s.demands.of(snapshot, task)
		next := placement.Task{
			ID: "in place of " + task.ID, Workload: task.Owner().String(), CreatedAt: time.Unix(math.MaxInt32, 0),
			Ports: demand.ports, MemoryBytes: demand.memory, CPUs: demand.cpus,
		}
		tasks, ids[next.ID] = append(tasks, next), task.ID
	}
	_, refused := placement.Plan(tasks, nodes(snapshot))
	out := map[string]placement.Refusal{}
	for _, r := range refused {
		if id, ok := ids[r.Task]; ok {
			out[id] = r
		}
	}
	return out
}
