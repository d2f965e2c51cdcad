package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a store with a view and a service on it.
type world struct {
	t       *testing.T
	store   *memory.Store
	view    *view.View
	service *Service
	commits atomic.Int64
	// before runs before each commit, to let others write meanwhile.
	before func()
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, store: memory.New()}
	w.view = view.New(w.store, view.Options{Decode: records.Decode, Indexes: records.Indexes,
		Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; w.store.Close() })
	<-w.view.Synced()
	var uids atomic.Int64
	opts := Options{Store: w, Reader: FromView{Store: w.store, View: w.view},
		Now:    func() time.Time { return testTime },
		NewUID: func() string { return "uid-" + strconv.FormatInt(uids.Add(1), 10) },
		Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&opts)
	}
	w.service = New(opts)
	return w
}

// Commit makes the world the service's store.
func (w *world) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if before := w.before; before != nil {
		w.before = nil
		before()
	}
	w.commits.Add(1)
	return w.store.Commit(ctx, txn)
}

func (w *world) apply(opts ApplyOptions, objects ...api.Object) (api.ApplyResult, error) {
	return w.service.Apply(w.t.Context(), objects, opts)
}

func (w *world) mustApply(objects ...api.Object) api.ApplyResult {
	w.t.Helper()
	result, err := w.apply(ApplyOptions{}, objects...)
	if err != nil {
		w.t.Fatalf("apply: %v", err)
	}
	return result
}

func (w *world) snapshot() records.Snapshot {
	w.t.Helper()
	snap, err := FromView{Store: w.store, View: w.view}.Fresh(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return snap
}

func (w *world) object(ref api.Ref) *api.Object { return w.snapshot().Object(ref).Value }

// put writes a record as another part of Tend would.
func (w *world) put(key string, record any) {
	w.t.Helper()
	if _, err := records.NewTxn("test").Put(key, record).Commit(context.Background(), w.store); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) revision() int64 {
	page, err := w.store.List(w.t.Context(), "", store.ListOptions{Limit: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	return page.Revision
}

func ref(scope, name string) api.Ref {
	return api.Ref{Kind: api.KindDeployment, Scope: scope, Name: name}
}

func deployment(scope, name, spec string) api.Object {
	return api.Object{Kind: api.KindDeployment, Scope: scope, Name: name, Spec: json.RawMessage(spec)}
}

func wantReason(t *testing.T, err error, want Reason) *Error {
	t.Helper()
	var refused *Error
	if !errors.As(err, &refused) || refused.Reason != want {
		t.Fatalf("got %v, want a refusal with %s", err, want)
	}
	if refused.Next == "" {
		t.Errorf("%v names no next step", err)
	}
	return refused
}
