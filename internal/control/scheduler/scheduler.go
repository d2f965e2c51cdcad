package scheduler

import (
	"context"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Scheduler places tasks.
type Scheduler struct {
	control.Deps
	demands *demands
	board   board
}

// key is the only key: placing is one decision over all tasks and nodes.
var key = engine.Key{Kind: "schedule", Name: "all"}

// maxAssignments bounds one commit; the next reconcile places the rest.
const maxAssignments = 1000

// New returns a scheduler.
func New(deps control.Deps) *Scheduler {
	demands := newDemands()
	return &Scheduler{Deps: deps.Defaults(), demands: demands, board: board{demands: demands}}
}

// Name implements control.Controller.
func (s *Scheduler) Name() string { return key.Kind }

// Workers returns one: placing is one decision.
func (s *Scheduler) Workers() int { return 1 }

// Keys returns the only key.
func (s *Scheduler) Keys() []engine.Key { return []engine.Key{key} }

// Dirty returns the key while a waiting task fits on a node.
func (s *Scheduler) Dirty(time.Time) []engine.Key {
	if _, d := s.board.plan(s.Snapshot()); len(d.assigned) > 0 {
		return s.Keys()
	}
	return nil
}

// Affected returns the key when tasks are created or end, and when nodes change.
func (s *Scheduler) Affected(_ records.Snapshot, change view.Change) []engine.Key {
	if strings.HasPrefix(change.Key, records.AlivePrefix) || strings.HasPrefix(change.Key, records.LossesPrefix) {
		return []engine.Key{key} // a heartbeat began or ended, or the pause of a flapping node
	}
	switch record := change.New.(type) {
	case *api.Task:
		if record.Node == "" && record.Desired == api.DesiredRunning {
			return []engine.Key{key}
		}
	case *api.TaskStatus:
		if record.State.Terminal() {
			return []engine.Key{key}
		}
	case *api.NodeStatus:
		return []engine.Key{key}
	case *api.Object:
		// What placement reads of it may have changed: labels and availability of a node, or the rules of a workload.
		if record.Kind == api.KindNode || record.Kind.HasContainers() {
			return []engine.Key{key}
		}
	}
	return nil
}

// Reconcile places the tasks that can be placed.
func (s *Scheduler) Reconcile(ctx context.Context, _ engine.Key) (engine.Result, error) {
	snapshot, decision := s.board.plan(s.Snapshot())
	assigned := decision.assigned
	txn := records.NewTxn("schedule")
	homes := map[string]bool{} // that this commit writes
	for _, a := range assigned[:min(len(assigned), maxAssignments)] {
		read := snapshot.Task(a.Task)
		task := *read.Value
		task.Node = a.Node
		txn.If(records.TaskKey(task.ID), read.Modified).Put(records.TaskKey(task.ID), task)
		for _, volume := range s.demands.of(snapshot, read.Value).at(read.Value) {
			key := records.HomeKey(volume)
			if _, known := snapshot.Get(key); !known && !homes[volume] {
				homes[volume] = true
				txn.Put(key, a.Node)
			}
		}
	}
	revision, err := txn.Commit(ctx, s.Store)
	result := engine.Result{Revision: revision}
	if len(assigned) > maxAssignments {
		result.After = time.Millisecond
	}
	return result, err
}

// Refusals returns why tasks without a node fit on none, by task id.
func (s *Scheduler) Refusals(snapshot records.Snapshot) map[string]placement.Refusal {
	snapshot.Fleeting() // what others need changes it
	_, d := s.board.plan(snapshot)
	return d.refused
}
