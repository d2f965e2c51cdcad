package scheduler

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// Misplaced returns a function that says why a node may not keep the tasks of a workload: it was drained, or no longer meets the
// constraints. It returns the empty string if the node may. task is one of them.
func (s *Scheduler) Misplaced(snapshot records.Snapshot, task *api.Task) func(node string) string {
	s.board.onNodes(snapshot)
	rules := s.demands.of(snapshot, task).Rules
	return func(id string) (why string) {
		s.board.at(snapshot, func(_ records.Snapshot, l *placement.Ledger) {
			if n, known := l.Node(id); known {
				why = placement.Misplaced(n, rules)
			}
		})
		return why
	}
}

// Places counts the nodes for the pods of a global deployment: those in hosts, which have one, and those that may get one.
func (s *Scheduler) Places(snapshot records.Snapshot, object api.Object, hosts map[string]bool) (places int) {
	s.board.onNodes(snapshot)
	rules := demandOf(nil, &object).Rules
	s.board.at(snapshot, func(_ records.Snapshot, l *placement.Ledger) { places = placement.Places(l.Nodes(), rules, hosts) })
	return places
}
