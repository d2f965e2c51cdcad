package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store"
)

// electionKey holds the id of the process whose controllers may write.
const electionKey = layout.LeasesPrefix + "controllers"

// errDeposed ends a server whose controllers were taken over.
var errDeposed = errors.New("another server took over the controllers")

// fenced is a committer whose every commit compares the election key, so that a server that lost it can write nothing.
//
// The same comparison settles unknown outcomes: Settle writes the key again, and a commit that was sent before and not
// applied yet then compares a revision that is gone.
type fenced struct {
	store.Store
	// id is the key's value.
	id []byte
	// inherited: the key was another process's, whose own late claim may still come over it.
	inherited bool
	// held is the revision of the key that commits compare.
	held atomic.Int64
	// renewing has one place, which is taken while held may be about to change. Waiting for it ends with the caller's context:
	// the store may take long to answer whoever has it.
	renewing chan struct{}
	// lost is closed once another process holds the key.
	lost chan struct{}
	once sync.Once
}

func newFenced(s store.Store, id []byte, held int64) *fenced {
	f := &fenced{Store: s, id: id, renewing: make(chan struct{}, 1), lost: make(chan struct{})}
	f.held.Store(held)
	return f
}

// takeOver claims the controllers. The one member of an embedded store has nobody to wait for: whoever opened the data
// dir before is gone. The claim compares what it takes over from: one whose outcome stayed unknown can't be applied late,
// over the claim of a process that came after.
func takeOver(ctx context.Context, s store.Store) (*fenced, error) {
	before, err := s.Get(ctx, electionKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("claim the controllers: %w", err)
	}
	id := []byte(control.RandomHex(8))
	revision, err := s.Commit(ctx, store.Txn{
		Site: "election", If: []store.Condition{{Key: electionKey, Modified: before.Modified}}, Do: []store.Op{{Key: electionKey, Value: id}},
	})
	if errors.Is(err, store.ErrNoSpace) {
		return inherit(ctx, s, err)
	}
	if err != nil {
		return nil, fmt.Errorf("claim the controllers: %w", err)
	}
	return newFenced(s, id, revision), nil
}

// inherit goes on under the claim of the process before where the disk is too full for one of our own: a full disk makes
// a server read-only, it doesn't keep one from starting.
func inherit(ctx context.Context, s store.Store, full error) (*fenced, error) {
	entry, err := s.Get(ctx, electionKey)
	if err != nil {
		return nil, fmt.Errorf("claim the controllers: %w", full)
	}
	f := newFenced(s, entry.Value, entry.Modified)
	f.inherited = true
	return f, nil
}

// Commit commits under the election.
func (f *fenced) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	held := f.held.Load()
	txn.If = append([]store.Condition{{Key: electionKey, Modified: held}}, txn.If...)
	revision, err := f.Store.Commit(ctx, txn)
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Key != electionKey {
		return revision, err
	}
	if err := f.renew(ctx); err != nil {
		return 0, err
	}
	defer f.renewed()
	if f.held.Load() == held {
		if err := f.adopt(ctx); err != nil {
			return 0, err
		}
	}
	return 0, err // Settle was faster: the next try compares the new revision
}

// renew waits until no one else may change held.
func (f *fenced) renew(ctx context.Context) error {
	select {
	case f.renewing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fenced) renewed() { <-f.renewing }

// watch ends with an error once another process holds the key: a server that can write nothing must not look alive.
func (f *fenced) watch(ctx context.Context) error {
	select {
	case <-f.lost:
		if f.inherited {
			return fmt.Errorf("%w; this one held the claim of the process before, because its own found no space: %w", errDeposed, store.ErrNoSpace)
		}
		return errDeposed
	case <-ctx.Done():
		return nil
	}
}

// Settle returns a revision by which every commit that was sent before is applied, or can no longer be.
func (f *fenced) Settle(ctx context.Context) (int64, error) {
	if err := f.renew(ctx); err != nil {
		return 0, err
	}
	defer f.renewed()
	held := f.held.Load()
	revision, err := f.Store.Commit(ctx, store.Txn{
		Site: "election.settle", If: []store.Condition{{Key: electionKey, Modified: held}},
		Do: []store.Op{{Key: electionKey, Value: f.id}},
	})
	switch {
	case err == nil:
		f.held.Store(revision)
		return revision, nil
	case !errors.Is(err, store.ErrConflict):
		return 0, err
	}
	// An earlier Settle had no answer and was applied: that settles what was sent before it, under the old revision.
	if err := f.adopt(ctx); err != nil {
		return 0, err
	}
	return f.held.Load(), nil
}

// adopt holds the key's newest revision if it is still this process's key. It needs renewing.
func (f *fenced) adopt(ctx context.Context) error {
	entry, err := f.Get(ctx, electionKey)
	if err != nil {
		return fmt.Errorf("read the election: %w", err)
	}
	if string(entry.Value) != string(f.id) {
		f.once.Do(func() { close(f.lost) })
		return errDeposed
	}
	f.held.Store(entry.Modified)
	return nil
}
