package eventlog_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

const source = "/tend/clusters/test"

// patience is the time for which a test waits for what must happen.
const patience = time.Minute

// backends are the stores that the log is tested on; etcd only without the race detector.
var backends = map[string]func(t testing.TB) store.Store{
	"memory": func(testing.TB) store.Store { return memory.New() },
}

// world is a store with a server's part of the log.
type world struct {
	t     testing.TB
	ctx   context.Context
	store store.Store
	*peer
}

// peer is one server's copy of the log.
type peer struct {
	view     *view.View
	log      *eventlog.Log
	recorder *eventlog.Recorder
}

func newWorld(t testing.TB, open func(t testing.TB) store.Store) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, store: open(t)}
	t.Cleanup(func() { _ = w.store.Close() })
	w.peer = w.serve(w.store)
	return w
}

// serve starts another server on the store.
func (w *world) serve(s store.Store) *peer {
	w.t.Helper()
	p := &peer{log: eventlog.New(eventlog.Options{Store: s, Prefix: records.EventsPrefix, Source: source, Tail: 8})}
	p.view = view.New(s, view.Options{
		Decode: records.Decode, Indexes: records.Indexes, Logger: slog.New(slog.DiscardHandler),
		Aside: []view.Aside{{Prefix: records.EventsPrefix, Reader: p.log}},
	})
	p.recorder = eventlog.Record(s, p.view.Snapshot, time.Now)
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = p.view.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-done })
	select {
	case <-p.view.Synced():
	case <-ctx.Done():
		w.t.Fatal("the view was not read")
	}
	return p
}

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

func object(ref api.Ref, generation int64, spec string) api.Object {
	return api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: json.RawMessage(spec),
		Metadata: api.Metadata{UID: "u-" + ref.Name, Generation: generation}}
}

// put writes an object on the condition that it hasn't changed since the view's snapshot.
func (w *world) put(o api.Object) int64 {
	w.t.Helper()
	key := records.ObjectKey(o.Ref())
	revision := w.commit(w.ctx, records.NewTxn("apply").If(key, w.modified(key)).Put(key, o))
	return revision
}

func (w *world) modified(key string) int64 {
	record, _ := w.view.Snapshot().Get(key)
	return record.Modified
}

// commit commits through the recorder, and waits until the view has seen it.
func (w *world) commit(ctx context.Context, txn *records.Txn) int64 {
	w.t.Helper()
	revision, err := txn.Commit(ctx, w.recorder)
	if err == nil {
		err = w.view.WaitFor(w.ctx, revision)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return revision
}

// all reads the log from a position to its end.
func (w *world) all(after eventlog.Position) []api.Event {
	w.t.Helper()
	var out []api.Event
	for {
		page, err := w.log.Read(w.ctx, eventlog.Query{After: after, Limit: 7})
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, page.Events...)
		if !page.More {
			return out
		}
		after = page.Next
	}
}

func types(events []api.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.Type
	}
	return out
}

func data(t testing.TB, e api.Event) api.EventData {
	t.Helper()
	var d api.EventData
	if err := json.Unmarshal(e.Data, &d); err != nil {
		t.Fatal(err)
	}
	return d
}
