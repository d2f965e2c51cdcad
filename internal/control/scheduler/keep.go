package scheduler

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// Misplaced returns why a placed task's node may not keep it: it was drained, or no longer meets the constraints. It is
// empty if it may.
func (s *Scheduler) Misplaced(snapshot records.Snapshot, task *api.Task) string {
	status := snapshot.Node(task.Node)
	if !status.Exists() {
		return ""
	}
	return placement.Misplaced(node(snapshot, status.Value), s.demands.of(snapshot, task).Rules)
}

// Places counts the nodes for the pods of a global deployment: those in hosts, which have one, and those that may get one.
func (s *Scheduler) Places(snapshot records.Snapshot, object api.Object, hosts map[string]bool) int {
	return placement.Places(nodes(snapshot), demandOf(nil, &object).Rules, hosts)
}
