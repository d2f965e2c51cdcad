package tendtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/verbs"
	controllers "tend.dev/tend/internal/kinds/clusterjob"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/server/clusterapi"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Server is a control plane like that of Tend's server.
type Server struct {
	testing.TB
	// Store holds its objects. The test closes it after the parts have ended.
	Store *memory.Store
	// Handler answers the operators.
	Handler *clusterapi.Handler

	ctx  context.Context
	view *view.View
	now  func() time.Time
}

// Start starts a control plane, whose parts run until ctx ends. now is its clock; nil means time.Now.
func Start(ctx context.Context, t testing.TB, parts *sync.WaitGroup, now func() time.Time) *Server {
	s := &Server{TB: t, ctx: ctx, Store: memory.New(), now: now}
	s.view = view.New(s.Store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	parts.Go(func() { _ = s.view.Run(ctx) })
	<-s.view.Synced()
	for _, kind := range controllers.Kinds {
		c := control.New(control.Deps{Snapshot: s.Snapshot, Store: s.Store, Now: now}, kind())
		work := reconciler.New(reconciler.Options{
			Name: c.Name(), Reconciler: c, Replay: c.Keys, Dirty: c.Dirty,
			Synced: s.view.Synced(), Revision: s.view.Revision, WaitFor: s.view.WaitFor,
		})
		s.view.OnChange(func(change view.Change) { work.Enqueue(c.Affected(s.Snapshot(), change)...) })
		parts.Go(func() { _ = work.Run(ctx) })
	}
	s.Handler = clusterapi.New(clusterapi.Options{
		Store: s.Store, View: s.view, Fresh: s.fresh, Now: now,
		MAC: mac, Leases: s.Store, Seal: asIs, Open: asIs,
	})
	return s
}

// asIs stands in for encryption.
func asIs(text []byte) ([]byte, error) { return text, nil }

// mac stands in for the servers' keyed hash.
func mac(plain []byte) string { return fmt.Sprintf("%x", plain) }

// Verbs returns the verbs for people.
func (s *Server) Verbs() *verbs.Service {
	return verbs.New(verbs.Options{
		Store: s.Store, Reader: verbs.FromView{Store: s.Store, View: s.view}, MAC: mac, Now: s.now,
	})
}

// Snapshot returns the server's current view.
func (s *Server) Snapshot() records.Snapshot { return records.Snapshot{Reader: s.view.Snapshot()} }

func (s *Server) fresh(ctx context.Context) (records.Snapshot, error) {
	page, err := s.Store.List(ctx, records.SchemaKey, store.ListOptions{Limit: 1})
	if err == nil {
		err = s.view.WaitFor(ctx, page.Revision)
	}
	return s.Snapshot(), err
}

// Put stores an object as a user's apply would.
func (s *Server) Put(object api.Object) {
	s.Helper()
	if _, err := records.NewTxn("test").Put(records.ObjectKey(object.Ref()), object).Commit(s.ctx, s.Store); err != nil {
		s.Fatal(err)
	}
}
