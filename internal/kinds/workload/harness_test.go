package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/control/scheduler"
	"tend.dev/tend/internal/kinds/leftover"
	"tend.dev/tend/internal/kinds/owner"
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

// harness is a store with its view and the two controllers over it. The agent's halves are written by hand, or by
// runAgent.
type harness struct {
	testing.TB
	store     *memory.Store
	view      *view.View
	c         *controller
	scheduler *scheduler.Scheduler
	leftovers *control.Shell
	liveness  *owner.Liveness
	sealer    *sealer
	now       time.Time
	// reconcilesAt is when the node's agent reconciles again.
	reconcilesAt time.Time
	drawn        int
	// commits are the controller's own, in order.
	commits []store.Txn
	// before is called before each of them, after once a reconcile is over.
	before func(store.Txn)
	after  func()
	// ref is the workload under test.
	ref api.Ref
	// refuse fails a commit before it reaches the store; nil refuses none.
	refuse func(store.Txn) error
	// lost fails a commit after it reached the store: its writer gets an error.
	lost bool
	// images are the images the node has, by reference; fails are the releases whose tasks can't start.
	images map[string]string
	fails  map[string]bool
	// does holds the outcome of a release's command, by its run; ran are those that began, in order.
	does map[string]command
	ran  []string
	// cut are the nodes whose agents do nothing.
	cut map[string]bool
}

// controller is a controller with what it decides by.
type controller struct {
	*control.Shell
	*workloads
}

func newController(deps control.Deps, kind api.Kind, liveness *owner.Liveness) *controller {
	deps = deps.Defaults()
	c := &controller{workloads: decides(deps, kind, liveness)}
	c.Shell = control.New(deps, c.row())
	return c
}

func newHarness(t testing.TB) *harness {
	l := &harness{
		TB: t, ref: web, store: memory.New(), sealer: &sealer{}, now: epoch,
		images: map[string]string{"web:1": "sha256:1", "web:2": "sha256:2", "web:3": "sha256:3"},
		fails:  map[string]bool{},
		does:   map[string]command{}, cut: map[string]bool{},
	}
	l.view = view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = l.store.Close() })
	<-l.view.Synced()
	deps := control.Deps{
		Snapshot: l.snapshot, Store: l, Sealer: l.sealer, Now: func() time.Time { return l.now },
		NewSlot: func() string { l.drawn++; return fmt.Sprintf("s%07d", l.drawn) },
		NewTask: func() string { l.drawn++; return fmt.Sprintf("t%07d", l.drawn) },
	}
	l.liveness = owner.NewLiveness(0, 0, func() time.Time { return l.now })
	deps.Board = board.New()
	l.scheduler = scheduler.New(control.Deps{Snapshot: l.snapshot, Store: l.store, Board: deps.Board})
	l.leftovers = control.New(control.Deps{Snapshot: l.snapshot, Store: l.store}, leftover.Kind())
	l.c = newController(deps, api.KindDeployment, l.liveness)
	l.write(func(txn *records.Txn) {
		txn.Put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Runtime: "hollow",
			Ready: true}).Put(records.AliveKey("n1"), "now")
	})
	return l
}

func (l *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: l.view.Snapshot()} }

// Commit implements the controller's store.
func (l *harness) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if l.before != nil {
		l.before(txn)
	}
	if l.refuse != nil {
		if err := l.refuse(txn); err != nil {
			if l.lost {
				revision, _ := l.store.Commit(ctx, txn)
				l.await(revision)
			}
			return 0, err
		}
	}
	revision, err := l.store.Commit(ctx, txn)
	if err == nil {
		l.commits = append(l.commits, txn)
	}
	return revision, err
}

// write commits as another writer, and waits until the view shows it.
func (l *harness) write(fill func(*records.Txn)) int64 {
	l.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	revision, err := txn.Commit(context.Background(), l.store)
	if err != nil {
		l.Fatal(err)
	}
	l.await(revision)
	return revision
}

func (l *harness) await(revision int64) {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := l.view.WaitFor(ctx, revision); err != nil {
		l.Fatal(err)
	}
}

// look reconciles once.
func (l *harness) look() (reconciler.Result, error) {
	l.Helper()
	result, err := l.c.Reconcile(context.Background(), control.Key(l.ref))
	l.await(result.Revision)
	if l.after != nil {
		l.after()
	}
	return result, err
}

// looks reconciles once and fails the test on an error.
func (l *harness) looks() reconciler.Result {
	l.Helper()
	result, err := l.look()
	if err != nil {
		l.Fatal(err)
	}
	return result
}

// apply stores a spec as the API does: a new generation where the spec differs, which clears a rollback's stamp.
func (l *harness) apply(spec api.DeploymentSpec) api.Object {
	l.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	object := api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name,
		Metadata: api.Metadata{Finalizers: []string{api.FinalizerTasks}}}
	if old := l.snapshot().Object(web); old.Exists() {
		object = *old.Value
	}
	if string(object.Spec) != string(raw) {
		object.Spec = raw
		object.Metadata.Generation++
		object = stamped(object, api.StampRollback, "")
	}
	l.put(object)
	return object
}

func (l *harness) put(object api.Object) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		txn.Put(records.ObjectKey(object.Ref()), object).Put(records.NameKey(object.Ref()), object.Ref())
	})
}

// stamp sets a stamp, as restart and rollback do.
func (l *harness) stamp(name, value string) {
	l.Helper()
	l.put(stamped(*l.snapshot().Object(web).Value, name, value))
}

func stamped(object api.Object, name, value string) api.Object {
	stamps := map[string]string{name: value}
	for k, v := range object.Metadata.Stamps {
		if k != name {
			stamps[k] = v
		}
	}
	if value == "" {
		delete(stamps, name)
	}
	object.Metadata.Stamps = stamps
	return object
}

func (l *harness) delete() {
	l.Helper()
	object := *l.snapshot().Object(web).Value
	object.Metadata.DeletedAt = &l.now
	l.put(object)
}

func (l *harness) status() api.WorkloadStatus {
	l.Helper()
	read := l.snapshot().WorkloadStatus(l.ref)
	if !read.Exists() {
		l.Fatal("there is no status")
	}
	return *read.Value
}

func (l *harness) condition(conditionType string) api.Condition {
	l.Helper()
	c := api.FindCondition(l.status().Conditions, conditionType)
	if c == nil {
		l.Fatalf("there is no condition %s", conditionType)
		return api.Condition{}
	}
	return *c
}

// observed returns what the controller sees now.
func (l *harness) observed() observed {
	l.Helper()
	o, err := l.c.observe(l.observation())
	if err != nil {
		l.Fatalf("observe: %v", err)
	}
	return o
}

func (l *harness) observation() control.Observation {
	s := l.snapshot()
	return control.Observation{Snapshot: s, Ref: l.ref, Object: s.Object(l.ref), Now: l.now, NewTask: l.c.NewTask,
		NewSlot: l.c.NewSlot}
}

func (l *harness) live() []api.Task {
	var out []api.Task
	for _, task := range l.snapshot().TasksOf(l.ref) {
		if task.Value.Desired == api.DesiredRunning && !l.snapshot().TaskStatus(task.Value.ID).Exists() ||
			task.Value.Desired == api.DesiredRunning && !l.snapshot().TaskStatus(task.Value.ID).Value.State.Terminal() {
			out = append(out, *task.Value)
		}
	}
	return out
}

func replicas(n int, image string) api.DeploymentSpec {
	return api.DeploymentSpec{
		Container: api.Container{
			Image: image,
		},
		Replicas: &n,
		Strategy: &api.Strategy{Pause: "1ms", Monitor: "1ms", OnFailure: api.OnFailureRollback},
	}
}
