package board

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

// Elsewhere returns why new tasks in the places of others would fit on no node, by the others' task ids. They are
// planned together, after the tasks that wait already: what is not refused would all be placed now.
func (b *Board) Elsewhere(snapshot records.Snapshot, others []*api.Task) map[string]placement.Refusal {
	snapshot.Fleeting() // what others need changes it
	next := make([]placement.Task, 0, len(others))
	for _, task := range others {
		demand := b.demands.of(snapshot, task)
		next = append(next, placement.Task{
			ID: task.ID, Workload: task.Owner().String(), Demand: demand.Demand, Volumes: demand.at(task),
			Toward: destination(snapshot, task.Owner(), task.ID),
		})
	}
	out := map[string]placement.Refusal{}
	b.at(snapshot, func(_ records.Snapshot, l *placement.Ledger) {
		for _, refused := range l.Refuse(next) {
			out[refused.Task] = refused
		}
	})
	return out
}

// Refusals returns why tasks without a node fit on none, by task id.
func (b *Board) Refusals(snapshot records.Snapshot) map[string]placement.Refusal {
	snapshot.Fleeting() // what others need changes it
	_, d := b.plan(snapshot)
	return d.refused
}

// Impossible returns why no node could take the pods that an object asks for, however much room there were; nothing if
// one could.
func (b *Board) Impossible(snapshot records.Snapshot, object api.Object) (refused placement.Refusal, ok bool) {
	asks := demandOf(&api.Release{Kind: object.Kind, Spec: object.Spec}, &object)
	b.at(snapshot, func(_ records.Snapshot, l *placement.Ledger) { refused, ok = l.Impossible(asks.Demand) })
	return refused, ok
}
