package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

var (
	epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	web   = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
)

// harness is a store with its view and a scheduler over it.
type harness struct {
	testing.TB
	store   *memory.Store
	view    *view.View
	s       *Scheduler
	commits []store.Txn
	before  func()
}

func newHarness(t testing.TB) *harness {
	l := &harness{TB: t, store: memory.New()}
	l.view = view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = l.store.Close() })
	<-l.view.Synced()
	l.s = New(control.Deps{Snapshot: l.snapshot, Store: l})
	return l
}

func (l *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: l.view.Snapshot()} }

// Commit implements the scheduler's store.
func (l *harness) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if l.before != nil {
		what := l.before
		l.before = nil
		what()
	}
	revision, err := l.store.Commit(ctx, txn)
	if err == nil {
		l.commits = append(l.commits, txn)
	}
	return revision, err
}

func (l *harness) write(fill func(*records.Txn)) {
	l.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	revision, err := txn.Commit(context.Background(), l.store)
	if err != nil {
		l.Fatal(err)
	}
	l.await(revision)
}

func (l *harness) await(revision int64) {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := l.view.WaitFor(ctx, revision); err != nil {
		l.Fatal(err)
	}
}

func (l *harness) looks() reconciler.Result {
	l.Helper()
	result, err := l.s.Reconcile(context.Background(), key)
	if err != nil {
		l.Fatal(err)
	}
	l.await(result.Revision)
	return result
}

// node stores a node whose engine answers; alive adds its heartbeat.
func (l *harness) node(id string, alive bool) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		txn.Put(records.NodeKey(id), api.NodeStatus{ID: id, Runtime: "docker", Ready: true, CPUs: 4,
			MemoryBytes: 4 << 30})
		if alive {
			txn.Put(records.AliveKey(id), "now")
		}
	})
}

// release stores a spec to make tasks of.
func (l *harness) release(id string, spec api.DeploymentSpec) {
	l.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	l.write(func(txn *records.Txn) {
		txn.Put(records.ReleaseKey(web, id), api.Release{ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name,
			Spec: raw})
	})
}

// tasks makes n tasks of a release, the first one oldest.
func (l *harness) tasks(n int, release string, edit func(*api.Task)) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		for i := range n {
			task := api.Task{
				ID: fmt.Sprintf("t%04d", i), Kind: web.Kind, Scope: web.Scope, Name: web.Name,
				Slot: fmt.Sprintf("s%d", i), Release: release,
				Desired: api.DesiredRunning, CreatedAt: epoch.Add(time.Duration(i) * time.Second),
			}
			if edit != nil {
				edit(&task)
			}
			txn.CreateTask(task)
		}
	})
}

// on returns the number of tasks on each node; "" are those without.
func (l *harness) on() map[string]int {
	out := map[string]int{}
	for _, task := range l.snapshot().Tasks() {
		out[task.Value.Node]++
	}
	return out
}
