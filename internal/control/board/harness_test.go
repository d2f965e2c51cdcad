package board

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

var (
	epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	web   = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
)

// harness is a store with its view and a board.
type harness struct {
	testing.TB
	store *memory.Store
	view  *view.View
	board *Board
}

func newHarness(t testing.TB) *harness {
	l := &harness{TB: t, store: memory.New(), board: New()}
	l.view = view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = l.store.Close() })
	<-l.view.Synced()
	return l
}

func (l *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: l.view.Snapshot()} }

func (l *harness) commit(txn *records.Txn) {
	l.Helper()
	revision, err := txn.Commit(context.Background(), l.store)
	if err == nil {
		err = l.view.WaitFor(context.Background(), revision)
	}
	if err != nil {
		l.Fatal(err)
	}
}

func (l *harness) write(fill func(*records.Txn)) {
	l.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	l.commit(txn)
}

// release stores a spec to make tasks of.
func (l *harness) release(id string, spec api.DeploymentSpec) {
	l.Helper()
	l.write(func(txn *records.Txn) { txn.Put(records.ReleaseKey(web, id), l.releaseOf(id, spec)) })
}

func (l *harness) releaseOf(id string, spec api.DeploymentSpec) *api.Release {
	l.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	return &api.Release{ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: raw}
}
