package workload

import (
	"context"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
)

// runAgent lets the node's agent do all its work, and reports whether there was any.
func (l *harness) runAgent() bool {
	l.Helper()
	l.reconcilesAt = time.Time{}
	txn := records.NewTxn("agent")
	l.answerImage(txn)
	for _, task := range slices.Concat(l.snapshot().TasksOf(l.ref), l.snapshot().LeftoversOf(l.ref)) {
		switch {
		case task.Value.Node == "" || l.cut[task.Value.Node]:
		case task.Value.Role != api.RoleMain:
			l.runCommand(txn, *task.Value)
		default:
			l.run(txn, *task.Value)
		}
	}
	if txn.Empty() {
		return false
	}
	revision, err := txn.Commit(context.Background(), l.store)
	if err != nil {
		l.Fatal(err)
	}
	l.await(revision)
	return true
}

func (l *harness) answerImage(txn *records.Txn) {
	request := l.snapshot().ImageRequest(l.ref)
	if !request.Exists() {
		return
	}
	next := api.ImageStatus{Owner: l.ref, Node: "n1", Image: request.Value.Image, Nonce: request.Value.Nonce,
		State: api.ImagePresent, Arch: "amd64"}
	if next.ImageID = l.images[next.Image]; next.ImageID == "" {
		next.State, next.Reason, next.Message = api.ImageFailed, "ImageNotFound",
			"docker.io has no image "+next.Image
	}
	if was := l.snapshot().ImageStatus("n1", l.ref); !was.Exists() || !cmp.Equal(*was.Value, next) {
		txn.Put(records.ImageStatusKey("n1", l.ref), next)
	}
}

func (l *harness) run(txn *records.Txn, task api.Task) {
	key, was := records.TaskStatusKey(task.ID), l.snapshot().TaskStatus(task.ID)
	next := api.TaskStatus{ID: task.ID, Node: "n1", State: api.TaskPending}
	if was.Exists() {
		next = *was.Value
	}
	switch {
	case task.Desired == api.DesiredRemoved:
		named := l.snapshot().Release(task.Owner(), task.Release).Exists() // by that the agent finds the volumes
		if was.Exists() && (named || !task.Wipe) {
			txn.Delete(key)
		}
		return
	case task.Desired == api.DesiredRunning && next.State == api.TaskRunning && task.Monitor != "" && !next.Steady:
		if at := next.StartedAt.Add(task.Monitor.Or(0)); l.now.Before(at) {
			l.watches(at)
			return
		}
		next.Steady = true
	case next.State.Terminal() || task.Desired == api.DesiredRunning && next.State == api.TaskRunning:
		return
	case task.Desired == api.DesiredShutdown:
		next.State, next.Ready, next.FinishedAt = api.TaskShutdown, false, l.now
	case l.waits(task):
		return
	case l.fails[task.Release]:
		next.State, next.Reason, next.Message, next.FinishedAt = api.TaskRejected, "InvalidMount", "no such folder",
			l.now
	default:
		next.State, next.Ready, next.RunningAt, next.StartedAt, next.ReadyAt = api.TaskRunning, true, l.now, l.now,
			l.now
	}
	txn.Put(key, next)
}

// watches has the agent reconcile again at a time.
func (l *harness) watches(at time.Time) {
	if l.reconcilesAt.IsZero() || at.Before(l.reconcilesAt) {
		l.reconcilesAt = at
	}
}

// waits reports whether the container that must be gone first is still there.
func (l *harness) waits(task api.Task) bool {
	before := l.snapshot().TaskStatus(task.After)
	return task.After != "" && before.Exists() && !before.Value.State.Terminal()
}

// settle reconciles, places and lets the agent act until there is nothing left to do, and advances the clock when only
// time is awaited.
func (l *harness) settle() {
	l.Helper()
	for range 2000 {
		result := l.looks()
		placed := l.place()
		acted := l.runAgent()
		switch {
		case result.Revision > 0 || placed.Revision > 0 || acted:
			l.pass(1)
		case result.After > 0 && (l.reconcilesAt.IsZero() || l.now.Add(result.After).Before(l.reconcilesAt)):
			l.now = l.now.Add(result.After)
		case !l.reconcilesAt.IsZero():
			l.now = l.reconcilesAt
		default:
			return
		}
	}
	l.Fatal("it does not settle")
}

// place lets the scheduler, and who forgets leftovers, work once.
func (l *harness) place() reconciler.Result {
	l.Helper()
	placed, err := l.scheduler.Reconcile(context.Background(), reconciler.Key{})
	if err != nil {
		l.Fatal(err)
	}
	for _, key := range l.leftovers.Keys() {
		forgotten, err := l.leftovers.Reconcile(context.Background(), key)
		if err != nil {
			l.Fatal(err)
		}
		placed.Revision = max(placed.Revision, forgotten.Revision)
	}
	l.await(placed.Revision)
	return placed
}
