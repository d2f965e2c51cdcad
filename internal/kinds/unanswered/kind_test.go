package unanswered

import (
	"context"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// world is a store with its view, a clock and the controller.
type world struct {
	*testing.T
	store *memory.Store
	view  *view.View
	c     *control.Shell
	now   time.Time
}

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

func newWorld(t *testing.T) *world {
	w := &world{T: t, store: memory.New(), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.view = view.New(w.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = w.store.Close() })
	<-w.view.Synced()
	w.c = control.New(control.Deps{Snapshot: w.snapshot, Store: w.store, Now: func() time.Time { return w.now }},
		Kind())
	for _, node := range []string{"n1", "n2", "n3"} {
		w.put(records.AliveKey(node), node)
	}
	return w
}

func (w *world) snapshot() records.Snapshot { return records.Snapshot{Reader: w.view.Snapshot()} }

func (w *world) put(key string, value any) {
	w.Helper()
	w.await(records.NewTxn("test").Put(key, value).Commit(w.Context(), w.store))
}

func (w *world) await(revision int64, err error) {
	w.Helper()
	if err == nil {
		err = w.view.WaitFor(w.Context(), revision)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// passes lets time pass, and has the controller look as the engine does.
func (w *world) passes(d time.Duration) {
	w.Helper()
	w.now = w.now.Add(d)
	for _, key := range w.c.Keys() {
		result, err := w.c.Reconcile(w.Context(), key)
		w.await(result.Revision, err)
	}
}

// asked returns the node that is asked and has given no sign.
func (w *world) asked() string {
	return imageask.Waiting(w.snapshot(), *w.snapshot().ImageRequest(web).Value)
}

// TestTheNextIsAsked: a node that gives no sign for 30 s is passed over, one after another, until one answers; a new
// request asks all of them again.
func TestTheNextIsAsked(t *testing.T) {
	w := newWorld(t)
	request := api.ImageRequest{Owner: web, OwnerUID: "u1", Image: "web:1"}
	w.put(records.ImageKey(web), request)
	seen := map[string]bool{}
	for range 3 {
		first := w.asked()
		if first == "" || seen[first] {
			t.Fatalf("%q is asked after %v", first, seen)
		}
		seen[first] = true
		if w.passes(0); w.asked() != first {
			t.Error("passed over at once")
		}
		if w.passes(29 * time.Second); w.asked() != first {
			t.Error("passed over before its time")
		}
		w.passes(time.Second)
	}
	last := w.asked()
	if last == "" {
		t.Fatal("nobody is asked any more")
	}
	w.put(records.ImageStatusKey("n2", web), api.ImageStatus{Owner: web, OwnerUID: "u1", Node: "n2", Image: "web:1",
		State: api.ImagePulling})
	if w.passes(time.Hour); w.asked() != "" {
		t.Errorf("%s is waited for beside one that pulls", w.asked())
	}
	request.Image = "web:2"
	w.put(records.ImageKey(web), request)
	if w.passes(0); w.snapshot().Unanswered(web).Exists() {
		t.Error("another request inherits who was asked in vain")
	}
	w.await(records.NewTxn("test").Delete(records.ImageKey(web)).Commit(t.Context(), w.store))
	result, err := w.c.Reconcile(t.Context(), control.Key(of(web)))
	if w.await(result.Revision, err); w.snapshot().Unanswered(web).Exists() {
		t.Error("a request that is gone leaves something behind")
	}
}

// TestOneThatIsSetAsideIsAskedLast: a node that a person cordoned is asked if there is no other.
func TestOneThatIsSetAsideIsAskedLast(t *testing.T) {
	w := newWorld(t)
	w.put(records.ImageKey(web), api.ImageRequest{Owner: web, OwnerUID: "u1", Image: "web:1"})
	for range 2 {
		first := w.asked()
		object := api.Object{Kind: api.KindNode, Scope: api.Unscoped, Name: first,
			Spec: []byte(`{"availability":"cordoned"}`)}
		w.put(records.ObjectKey(object.Ref()), object)
		if next := w.asked(); next == first || next == "" {
			t.Fatalf("%q is asked after %q was cordoned", next, first)
		}
	}
	last := w.asked()
	object := api.Object{Kind: api.KindNode, Scope: api.Unscoped, Name: last,
		Spec: []byte(`{"availability":"drained"}`)}
	if w.put(records.ObjectKey(object.Ref()), object); w.asked() == "" {
		t.Error("nobody is asked where all are set aside")
	}
}
