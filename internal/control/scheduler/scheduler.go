package scheduler

import (
	"context"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Scheduler places tasks.
type Scheduler struct{ control.Deps }

// key is the only key: placing is one decision over all tasks and nodes.
var key = reconciler.Key{Kind: "schedule", Name: "all"}

// New returns a scheduler.
func New(deps control.Deps) *Scheduler { return &Scheduler{deps.Defaults()} }

// Name implements control.Controller.
func (s *Scheduler) Name() string { return key.Kind }

// Workers returns one: placing is one decision.
func (s *Scheduler) Workers() int { return 1 }

// Keys returns the only key.
func (s *Scheduler) Keys() []reconciler.Key { return []reconciler.Key{key} }

// Dirty returns the key while a waiting task fits on a node.
func (s *Scheduler) Dirty(time.Time) []reconciler.Key {
	if s.Board.Waiting(s.Snapshot()) {
		return s.Keys()
	}
	return nil
}

// ofNodes are the prefixes of what decides whether a node takes tasks now: its heartbeat, the server that hears it, and
// the pause of a flapping one.
var ofNodes = []string{records.AlivePrefix, records.ServersPrefix, records.LossesPrefix}

// Affected returns the key when tasks are created or end, and when nodes change.
func (s *Scheduler) Affected(_ records.Snapshot, change view.Change) []reconciler.Key {
	for _, prefix := range ofNodes {
		if strings.HasPrefix(change.Key, prefix) {
			return s.Keys()
		}
	}
	switch record := change.New.(type) {
	case *api.Task:
		if record.Node == "" && record.Desired == api.DesiredRunning {
			return []reconciler.Key{key}
		}
	case *api.TaskStatus:
		if record.State.Terminal() {
			return []reconciler.Key{key}
		}
	case *api.NodeStatus:
		return []reconciler.Key{key}
	case *api.Object:
		// What placement reads of it may have changed: labels and availability of a node, or the rules of a workload.
		if record.Kind == api.KindNode || record.Kind.HasContainers() {
			return []reconciler.Key{key}
		}
	}
	return nil
}

// Reconcile places the tasks that can be placed. If a step placed tasks of its own meanwhile, it decides again.
func (s *Scheduler) Reconcile(ctx context.Context, _ reconciler.Key) (reconciler.Result, error) {
	txn, more := s.Board.PlaceWaiting(s.Snapshot())
	revision, err := txn.Commit(ctx, s.Store)
	if at, overtaken := board.Overtaken(err); overtaken {
		return reconciler.Result{Revision: at, After: time.Millisecond}, nil
	}
	result := reconciler.Result{Revision: revision}
	if more {
		result.After = time.Millisecond
	}
	return result, err
}
