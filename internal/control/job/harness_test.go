package job

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/scheduler"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/storefault"
	"tend.dev/tend/internal/store/view"
)

var (
	mail   = api.Ref{Kind: api.KindJob, Scope: "prod", Name: "mail"}
	backup = api.Ref{Kind: api.KindCronJob, Scope: "prod", Name: "backup"}
)

// harness is a store with its view, the controllers over it, run by the real engine, and a node. All of it runs in a
// synctest bubble, where time passes whenever there is nothing to do.
type harness struct {
	testing.TB
	store   *memory.Store
	view    *view.View
	agent   *fakeAgent
	stopped []func()
	// late is what the controllers commit to; nil is the store itself.
	late *storefault.Store

	mu        sync.Mutex
	listeners []func(view.Change)
}

// onChange registers a listener with the view for parts that start later: a running view takes none.
func (l *harness) onChange(fn func(view.Change)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listeners = append(l.listeners, fn)
}

func (l *harness) changed(change view.Change) {
	l.mu.Lock()
	listeners := l.listeners
	l.mu.Unlock()
	for _, fn := range listeners {
		fn(change)
	}
}

// inHarness runs a test in a bubble.
func inHarness(t *testing.T, do func(l *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &harness{TB: t, store: memory.New()}
		l.view = view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		l.view.OnChange(l.changed)
		ctx, cancel := context.WithCancel(context.Background())
		viewed := make(chan error, 1)
		go func() { viewed <- l.view.Run(ctx) }()
		<-l.view.Synced()
		l.node(true)
		l.agent = newFakeAgent(l)
		l.serve()
		do(l)
		l.stop()
		l.agent.stop()
		cancel()
		<-viewed
		_ = l.store.Close()
	})
}

func (l *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: l.view.Snapshot()} }

func (l *harness) deps() control.Deps {
	deps := control.Deps{Snapshot: l.snapshot, Store: l.store, Sealer: sealer{}}
	if l.late != nil {
		deps.Store = l.late
	}
	return deps
}

// serve starts the controllers; stop ends them as a crash does: what they held in memory is lost.
func (l *harness) serve() {
	deps := l.deps()
	nodes := scheduler.New(deps)
	options := func(o engine.Options) engine.Options {
		o.Synced, o.Revision, o.WaitFor = l.view.Synced(), l.view.Revision, l.view.WaitFor
		return o
	}
	var alive atomic.Bool
	alive.Store(true)
	members := []engine.Member{engine.New(options(engine.Options{Name: "schedule", Reconciler: nodes, Replay: nodes.Keys, Dirty: nodes.Dirty}))}
	placing := members[0].(*engine.Controller)
	l.onChange(func(c view.Change) {
		if alive.Load() {
			placing.Enqueue(nodes.Affected(l.snapshot(), c)...)
		}
	})
	for _, kind := range []api.Kind{api.KindJob, api.KindCronJob} {
		c := New(deps, Options{Kind: kind, Refusals: nodes.Refusals})
		work := engine.New(options(engine.Options{Name: string(kind), Reconciler: c, Replay: c.Keys, Dirty: c.Dirty}))
		l.onChange(func(change view.Change) {
			if alive.Load() {
				work.Enqueue(c.Affected(l.snapshot(), change)...)
			}
		})
		members = append(members, work)
	}
	group := engine.NewGroup(engine.GroupOptions{}, members...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- group.Run(ctx) }()
	l.stopped = append(l.stopped, func() {
		alive.Store(false)
		cancel()
		<-done
	})
}

func (l *harness) stop() {
	for _, stop := range l.stopped {
		stop()
	}
	l.stopped = nil
}

func (l *harness) write(fill func(*records.Txn)) {
	l.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	revision, err := txn.Commit(context.Background(), l.store)
	if err != nil {
		l.Fatal(err)
	}
	if err := l.view.WaitFor(context.Background(), revision); err != nil {
		l.Fatal(err)
	}
}

func (l *harness) node(alive bool) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		txn.Put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Runtime: "hollow", Ready: true})
		if alive {
			txn.Put(records.AliveKey("n1"), "now")
		} else {
			txn.Delete(records.AliveKey("n1"))
		}
	})
}

// apply stores a spec as the API does.
func (l *harness) apply(ref api.Ref, spec any) {
	l.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Metadata: api.Metadata{Finalizers: []string{api.FinalizerTasks}}}
	if old := l.snapshot().Object(ref); old.Exists() {
		object = *old.Value
	}
	object.Spec = raw
	object.Metadata.Generation++
	object.Metadata.UpdatedAt = time.Now().UTC()
	l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(ref), object).Put(records.NameKey(ref), ref) })
}

func (l *harness) delete(ref api.Ref) {
	l.Helper()
	object := *l.snapshot().Object(ref).Value
	now := time.Now().UTC()
	object.Metadata.DeletedAt = &now
	l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(ref), object) })
}

// ask creates a run as the API does.
func (l *harness) ask(ref api.Ref, id string) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		txn.Put(records.RunKey(ref, id), api.Run{
			ID: id, Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Trigger: api.TriggerManual, CreatedAt: time.Now().UTC(), State: api.RunPending,
		})
	})
}

// pass lets time pass, and waits until everything that follows from it has settled.
func (l *harness) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (l *harness) run(ref api.Ref, id string) api.Run {
	l.Helper()
	run := l.snapshot().Run(ref, id)
	if !run.Exists() {
		l.Fatalf("there is no run %s", id)
	}
	return *run.Value
}

func (l *harness) status(ref api.Ref) api.JobStatus {
	l.Helper()
	status := l.snapshot().JobStatus(ref)
	if !status.Exists() {
		l.Fatal("there is no status")
	}
	return *status.Value
}

func (l *harness) condition(ref api.Ref, kind, reason string, want api.ConditionStatus) {
	l.Helper()
	c := api.FindCondition(l.status(ref).Conditions, kind)
	if c == nil || c.Status != want || c.Reason != reason {
		l.Errorf("condition %s: %+v; want %s, %s", kind, c, want, reason)
	}
}

// sealer leaves values in plain text.
type sealer struct{}

func (sealer) Encrypt(plain []byte) ([]byte, error)  { return append([]byte("sealed:"), plain...), nil }
func (sealer) Decrypt(sealed []byte) ([]byte, error) { return sealed[len("sealed:"):], nil }
func (sealer) HMAC(data []byte) string               { return "hmac:" + string(data) }

func jobOf(image string) api.JobSpec {
	return api.JobSpec{Container: api.Container{Image: image}}
}
