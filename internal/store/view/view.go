package view

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"tend.dev/tend/internal/store"
)

// Decode decodes a stored value for readers. A nil result without an error keeps the key out of the view.
type Decode func(key string, value []byte) (any, error)

// Index finds records by something other than their key. Keys must always return the same for the same record.
type Index struct {
	Name string
	Keys func(key string, value any) []string
}

// Options are the options of a View. The zero value returns raw bytes.
type Options struct {
	// Decode defaults to returning the bytes.
	Decode  Decode
	Indexes []Index
	// Aside are the readers of prefixes that are kept out of the view.
	Aside []Aside
	// PageSize is the number of entries that a listing requests at a time; default 1000.
	PageSize int
	// History is the number of changes kept for watches that begin in the past; default 10000.
	History int
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// Aside reads a prefix that has many records: the view passes the records on and keeps none. The calls come from the
// feeding goroutine, before the view has reached their revision, and must be quick.
type Aside struct {
	Prefix string
	Reader interface {
		// Restart begins a listing: the entries until Reached are all that exist.
		Restart()
		Put(entry store.Entry)
		Delete(key string)
		// Reached reports that everything up to a revision has been passed on.
		Reached(revision int64)
	}
}

// Change is one record that changed.
type Change struct {
	// Revision is the revision of the commit. After the view had to list again, it is the revision of that listing,
	// for every missed change.
	Revision int64
	Key      string
	// Old and New are decoded, nil if absent. New is nil, without Deleted, if the new value doesn't decode.
	Old, New any
	Deleted  bool
}

// View is an in-memory view of a store. Create one with New and feed it with Run.
type View struct {
	store   store.Store
	options Options
	synced  chan struct{}
	current atomic.Pointer[Snapshot]

	// draft and undecodable belong to the goroutine in Run.
	draft       *draft
	undecodable map[string]int64 // key → the revision of the value that doesn't decode

	mu      sync.Mutex
	history history
	watches watches
	waiters []waiter
	// heard is the newest revision whose changes the listeners got.
	heard int64
	// listeners are replaced, never changed: they are called without mu.
	listeners []*listener
}

// listener is a function registered with OnChange. Its pointer identifies it for remove.
type listener struct{ fn func(Change) }

// waiter is a call of WaitFor: reached is closed at its revision.
type waiter struct {
	revision int64
	reached  chan struct{}
}

// New returns a view of a store. It is empty, at revision 0, until Run has listed the store.
func New(s store.Store, o Options) *View {
	if o.Decode == nil {
		o.Decode = func(_ string, value []byte) (any, error) { return value, nil }
	}
	if o.PageSize <= 0 {
		o.PageSize = 1000
	}
	if o.History <= 0 {
		o.History = 10_000
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	v := &View{
		store: s, options: o, synced: make(chan struct{}), draft: newDraft(o.Indexes),
		undecodable: map[string]int64{}, watches: watches{}, history: history{limit: o.History},
	}
	v.current.Store(v.draft.snapshot(0, v.history))
	return v
}

// Synced returns a channel that is closed when the first listing is complete.
func (v *View) Synced() <-chan struct{} { return v.synced }

// Snapshot returns the current snapshot; it never changes.
func (v *View) Snapshot() *Snapshot { return v.current.Load() }

// Revision returns the newest revision the view has.
func (v *View) Revision() int64 { return v.Snapshot().Revision() }

// OnChange calls fn for every change from now on, in commit order, from the feeding goroutine, after the snapshot with
// the change is published; fn must not block. The first listing makes no changes. After remove, a call that is under
// way may still finish.
func (v *View) OnChange(fn func(Change)) (remove func()) {
	l := &listener{fn}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.listeners = append(slices.Clone(v.listeners), l)
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.listeners = slices.DeleteFunc(slices.Clone(v.listeners), func(other *listener) bool { return other == l })
	}
}

// WaitFor returns once the view has reached a revision and its listeners got the changes. A listener must not call it.
func (v *View) WaitFor(ctx context.Context, revision int64) error {
	v.mu.Lock()
	if v.heard >= revision {
		v.mu.Unlock()
		return nil
	}
	reached := make(chan struct{})
	v.waiters = append(v.waiters, waiter{revision, reached})
	v.mu.Unlock()
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		v.forget(reached)
		return ctx.Err()
	}
}

func (v *View) forget(reached chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waiters = filtered(v.waiters, func(w waiter) bool { return w.reached != reached })
}

// wake ends the waits for a revision whose changes the listeners got.
func (v *View) wake(revision int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.heard = revision
	v.waiters = filtered(v.waiters, func(w waiter) bool {
		if w.revision <= revision {
			close(w.reached)
			return false
		}
		return true
	})
}

// filtered removes the other elements in place, without a copy.
func filtered[T any](all []T, keep func(T) bool) []T {
	kept := all[:0]
	for _, x := range all {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	clear(all[len(kept):])
	return kept
}
