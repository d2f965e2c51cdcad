package controlplane

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/kinds/autoscaler"
	"tend.dev/tend/internal/kinds/sink"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestAPanicStopsNothingElse goes through every controller: after a panic about one object, the plane continues, and
// the other object is reconciled.
func TestAPanicStopsNothingElse(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	walked := 0
	for _, c := range newVictim(t, memory.New()).controllers(readOnly{}) {
		kind := c.Name()
		walked++
		t.Run(kind+"/Affected", func(t *testing.T) {
			synctest.Test(t,
				func(t *testing.T) { panicInAffected(t, kind) })
		})
		t.Run(kind+"/Dirty", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { panicInDirty(t, kind) }) })
		t.Run(kind+"/Dirty of one object", func(t *testing.T) {
			synctest.Test(t,
				func(t *testing.T) { panicInOne(t, kind) })
		})
	}
	if walked < len(Kinds)+10 {
		t.Errorf("the walk met %d controllers", walked)
	}
}

// panicInAffected: Affected panics for the first change; the next change is still handled.
func panicInAffected(t *testing.T, kind string) {
	v := newVictim(t, memory.New())
	v.faulty(kind, func(f *faulty) { f.affected = true })
	v.run()
	v.forget()
	v.put(kind, "bad")
	v.put(kind, "good")
	synctest.Wait()
	if !v.reconciled("good") || v.count() == 0 {
		t.Errorf("after %d panics in Affected the keys %v were reconciled", v.count(), v.keys())
	}
	v.goesOn()
}

// panicInDirty: a whole pass panics. Then every object is reconciled.
func panicInDirty(t *testing.T, kind string) {
	v := newVictim(t, memory.New())
	v.put(kind, "good")
	v.faulty(kind, func(f *faulty) { f.dirty = true })
	v.run()
	v.forget()
	time.Sleep(v.Resync + time.Second)
	if v.count() == 0 || !v.reconciled("good") {
		t.Errorf("after %d panics in Dirty the keys %v were reconciled", v.count(), v.keys())
	}
	v.goesOn()
}

// alone are the controllers with a single key, which have no per-object decision that could panic by itself.
var alone = map[string]bool{"schedule": true, string(api.KindNetwork): true}

// panicInOne: a record of one object makes a pass panic. The pass still finds the other object.
func panicInOne(t *testing.T, kind string) {
	v := newVictim(t, memory.New())
	v.put(kind, "bad")
	v.put(kind, "good")
	v.faulty(kind, func(*faulty) {})
	sound := v.snapshot
	v.snapshot = func() records.Snapshot { return records.Snapshot{Reader: poisoned{sound().Reader, v}} }
	v.run()
	v.forget()
	time.Sleep(v.Resync + time.Second)
	if !alone[kind] && (v.count() == 0 || !v.reconciled("good") || !v.reconciled("bad")) {
		t.Errorf("after %d panics about one object the keys %v were reconciled", v.count(), v.keys())
	}
	v.goesOn()
}

// victim is a plane whose controllers only record the keys that they should reconcile.
type victim struct {
	*testing.T
	*Plane
	store *memory.Store
	ended chan error

	mu     sync.Mutex
	done   map[reconciler.Key]int
	panics int
}

func newVictim(t *testing.T, s *memory.Store) *victim {
	v := &victim{T: t, store: s, done: map[reconciler.Key]int{}, ended: make(chan error, 1)}
	v.Plane = New(Options{
		View: view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes}), Sealer: plain{},
		NodeTimeout: 30 * time.Second, Resync: 10 * time.Second, Logger: slog.New(slog.DiscardHandler),
		ReplicasHolder: func(api.Object) string { return "" },
		Effects: Effects{
			Call: func(context.Context, webhook.Request) webhook.Answer { return webhook.Answer{} },
			Blob: func(string) ([]byte, error) { return nil, io.EOF },
			Load: func(_ context.Context, tasks []string) []autoscaler.Sample {
				return make([]autoscaler.Sample, len(tasks))
			},
			Scale: func(context.Context, records.Committer, autoscaler.Deployment, int) error {
				return errors.New("nothing is scaled")
			},
			Delivered: func(string) {}, Scaled: func(string) {}, Sources: nowhere{},
			Sinks: sink.Options{Log: silent{}, Count: func(string, string) {}},
		},
	})
	return v
}

// faulty adds a controller of a kind to the plane that panics as set configures; the others are left out.
func (v *victim) faulty(kind string, set func(*faulty)) {
	v.make = func(commits records.Committer) []control.Controller {
		for _, c := range v.controllers(commits) {
			if c.Name() == kind {
				f := &faulty{Controller: c, victim: v}
				set(f)
				return []control.Controller{f}
			}
		}
		v.Fatalf("there is no controller of %s", kind)
		return nil
	}
}

// run runs the view and the plane until the test ends.
func (v *victim) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = v.View.Run(ctx) })
	synctest.Wait()
	term, err := Begin(ctx, v.store)
	if err != nil {
		v.Fatal(err)
	}
	running.Go(func() { v.ended <- v.Run(ctx, term) })
	v.Cleanup(func() { cancel(); running.Wait(); _ = v.store.Close() })
	synctest.Wait()
}

// Run hides the testing.T's.
func (v *victim) Run(ctx context.Context, term *Term) error { return v.Plane.Run(ctx, term) }

// goesOn asserts that the plane has not ended, and still reconciles changes.
func (v *victim) goesOn() {
	v.Helper()
	synctest.Wait()
	select {
	case err := <-v.ended:
		v.Errorf("the plane ended: %v", err)
	default:
	}
	select {
	case <-v.Ready():
	default:
		v.Error("the plane never was ready")
	}
}

// put stores an object or record for the controller of a kind.
func (v *victim) put(kind, name string) {
	v.Helper()
	txn := records.NewTxn("test")
	ref := api.Ref{Kind: api.Kind(kind), Scope: "prod", Name: name}
	switch kind {
	case "schedule":
		txn.Put(records.TaskKey(name), api.Task{ID: name, Kind: api.KindDeployment, Scope: "prod", Name: name,
			Desired: api.DesiredRunning})
	case "flapping":
		txn.Put(records.LossesKey(name), api.NodeLosses{At: []time.Time{time.Now()}})
	case "leftover":
		txn.Put(records.TaskKey(name), api.Task{ID: name, Kind: api.KindDeployment, Scope: "prod", Name: name,
			Desired: api.DesiredRemoved, Leftover: true})
	case "unanswered":
		ref.Kind = api.KindDeployment
		txn.Put(records.AliveKey("n1"), "n1").Put(records.ImageKey(ref), api.ImageRequest{Owner: ref, Image: "web:1"})
	case "delivery":
		ref.Kind = api.KindDeployment
		d := api.Delivery{ID: name, Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, State: api.DeliveryPending}
		txn.Put(records.DeliveryKey(ref, name), d)
	default:
		spec := `{"image":"web:1"}`
		if kind == "autoscale" {
			ref.Kind, spec = api.KindDeployment, `{"autoscale":{"min":1,"max":2,"cpu_target":50}}`
		}
		if ref.Kind == api.KindNetwork {
			ref = api.NetworkRef
		} else if ref.Kind.Info().Scope == api.ScopeNone {
			ref.Scope = api.Unscoped
		}
		object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
			Metadata: api.Metadata{UID: name, Generation: 1}}
		object.Spec = []byte(spec)
		txn.Put(records.ObjectKey(ref), object)
	}
	if _, err := txn.Commit(context.Background(), v.store); err != nil {
		v.Fatal(err)
	}
}

func (v *victim) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.done)
}

func (v *victim) panicked() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.panics++
}

func (v *victim) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.panics
}

func (v *victim) keys() (out []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key := range v.done {
		out = append(out, key.String())
	}
	return out
}

// reconciled reports whether the key of a name was reconciled, or the controller's only key.
func (v *victim) reconciled(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key := range v.done {
		if strings.Contains(key.Name, name) || alone[key.Kind] {
			return true
		}
	}
	return false
}

// faulty is a controller that records the keys it should reconcile, and panics.
type faulty struct {
	control.Controller
	*victim
	// dirty has every pass panic, affected the first change.
	dirty, affected bool
}

// Name hides the testing.T's.
func (f *faulty) Name() string { return f.Controller.Name() }

func (f *faulty) Reconcile(_ context.Context, key reconciler.Key) (reconciler.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[key]++
	return reconciler.Result{}, nil
}

func (f *faulty) Dirty(now time.Time) []reconciler.Key {
	if f.dirty {
		f.panicked()
		panic("the whole pass")
	}
	return f.Controller.Dirty(now)
}

func (f *faulty) Affected(s records.Snapshot, change view.Change) []reconciler.Key {
	if f.affected {
		f.affected = false
		f.panicked()
		panic("a change")
	}
	return f.Controller.Affected(s, change)
}

// poisoned panics where a pass reads something of the object called bad by its key.
type poisoned struct {
	records.Reader
	*victim
}

func (p poisoned) swallow(key string) {
	if strings.Contains(key, "bad") && inDirty() {
		p.panicked()
		panic("poison: " + key)
	}
}

func (p poisoned) Get(key string) (view.Record, bool) { p.swallow(key); return p.Reader.Get(key) }

func (p poisoned) Prefix(prefix string) iter.Seq[view.Record] {
	p.swallow(prefix)
	return p.Reader.Prefix(prefix)
}

func (p poisoned) Index(name, value string) iter.Seq[view.Record] {
	p.swallow(value)
	return p.Reader.Index(name, value)
}

// inDirty reports whether a controller's pass is on the stack.
func inDirty() bool {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		ours := strings.Contains(frame.Function, "internal/control") ||
			strings.Contains(frame.Function, "internal/kinds")
		if ours && strings.HasSuffix(frame.Function, ".Dirty") {
			return true
		}
		if !more {
			return false
		}
	}
}

type plain struct{}

func (plain) Encrypt(text []byte) ([]byte, error)   { return text, nil }
func (plain) Decrypt(sealed []byte) ([]byte, error) { return sealed, nil }
func (plain) HMAC(data []byte) string               { return string(data) }

// nowhere is an empty source of syncs.
type nowhere struct{}

func (nowhere) Poll(context.Context, api.Object) (string, []source.File, error) {
	return "", nil, io.EOF
}
func (nowhere) Apply(context.Context, records.Committer, api.Object) source.Applied {
	return source.Applied{}
}
func (nowhere) Keep([]string) {}
func (nowhere) Drop(string)   {}

// silent is a log without events.
type silent struct{}

func (silent) Next(ctx context.Context, after eventlog.Position, _ int) ([]api.Event, eventlog.Position, error) {
	<-ctx.Done()
	return nil, after, ctx.Err()
}
