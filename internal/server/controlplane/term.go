package controlplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// ElectionKey holds the id of the process whose controllers may write.
const ElectionKey = records.LeasesPrefix + "controllers"

// ErrDeposed ends a term: another process holds the election key.
var ErrDeposed = errors.New("another server took over the controllers")

// Term is the time in which this process may write as a controller. Every commit compares the election key, so that a
// process that lost it can write nothing.
//
// The same comparison settles unknown outcomes: Settle writes the key again, and a commit sent before that was not
// applied yet then compares an outdated revision.
type Term struct {
	store.Store
	// id is the key's value.
	id []byte
	// inherited is set if another process made the claim: a late claim of that process may still overwrite it.
	inherited bool
	// began is the revision of the claim.
	began int64
	// held is the revision of the key that commits compare.
	held atomic.Int64
	// renewing is a lock, taken while held may be about to change. Waiting for it ends with the caller's context: the
	// holder may wait long for the store.
	renewing chan struct{}
	// lost is closed once another process holds the key.
	lost chan struct{}
	once sync.Once
	// Among several servers the key is bound to lease; keeping renews it until release is called.
	lease   store.LeaseID
	unfit   func() string
	keeping recovery.Group
	release func()
}

func newTerm(s store.Store, id []byte, held int64) *Term {
	t := &Term{Store: s, id: id, began: held, renewing: make(chan struct{}, 1), lost: make(chan struct{})}
	t.held.Store(held)
	return t
}

// Begin claims the controllers of a store that no other process can have; for several servers see Candidate. The only
// member of an embedded store waits for no other process: the one that opened the data dir before has ended. The claim
// compares the claim that it replaces, so a claim with an unknown outcome can't be applied later over that of a later
// process.
func Begin(ctx context.Context, s store.Store) (*Term, error) {
	before, err := s.Get(ctx, ElectionKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("claim the controllers: %w", err)
	}
	id := []byte(control.RandomHex(8))
	revision, err := s.Commit(ctx, store.Txn{
		Site: "election", If: []store.Condition{{Key: ElectionKey, Modified: before.Modified}},
		Do: []store.Op{{Key: ElectionKey, Value: id}},
	})
	if errors.Is(err, store.ErrNoSpace) {
		return inherit(ctx, s, err)
	}
	if err != nil {
		return nil, fmt.Errorf("claim the controllers: %w", err)
	}
	return newTerm(s, id, revision), nil
}

// inherit continues under the claim of the previous process if the disk is too full for a new one: a full disk makes a
// server read-only, but doesn't keep it from starting.
func inherit(ctx context.Context, s store.Store, full error) (*Term, error) {
	entry, err := s.Get(ctx, ElectionKey)
	if err != nil {
		return nil, fmt.Errorf("claim the controllers: %w", full)
	}
	t := newTerm(s, entry.Value, entry.Modified)
	t.inherited = true
	return t, nil
}

// Commit commits on the condition that this process still holds the election key.
func (t *Term) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	held := t.held.Load()
	txn.If = append([]store.Condition{{Key: ElectionKey, Modified: held}}, txn.If...)
	revision, err := t.Store.Commit(ctx, txn)
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Key != ElectionKey {
		return revision, err
	}
	if err := t.renew(ctx); err != nil {
		return 0, err
	}
	defer t.renewed()
	if t.held.Load() == held {
		if err := t.adopt(ctx); err != nil {
			return 0, err
		}
	}
	return 0, err // Settle was faster: the retry compares the new revision
}

// renew waits until no other call may change held.
func (t *Term) renew(ctx context.Context) error {
	select {
	case t.renewing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Term) renewed() { <-t.renewing }

// observe checks the election key's value at a revision, so that a term without commits of its own also ends.
func (t *Term) observe(value any, revision int64) {
	id, ok := value.([]byte)
	if gone := !ok && t.lease != 0; revision > t.began && (gone || ok && string(id) != string(t.id)) {
		t.lose()
	}
}

func (t *Term) lose() { t.once.Do(func() { close(t.lost) }) }

// Lost returns a channel that is closed once another process holds the key.
func (t *Term) Lost() <-chan struct{} { return t.lost }

// Err returns the reason why the term was lost.
func (t *Term) Err() error {
	if t.inherited {
		return fmt.Errorf("%w; this one held the claim of the process before, because its own found no space: %w",
			ErrDeposed, store.ErrNoSpace)
	}
	return ErrDeposed
}

// Revision returns the revision of the election key that commits compare.
func (t *Term) Revision() int64 { return t.held.Load() }

// Settle returns a revision by which every commit that was sent before is applied, or can no longer be.
func (t *Term) Settle(ctx context.Context) (int64, error) {
	if err := t.renew(ctx); err != nil {
		return 0, err
	}
	defer t.renewed()
	held := t.held.Load()
	revision, err := t.Store.Commit(ctx, store.Txn{
		Site: "election.settle", If: []store.Condition{{Key: ElectionKey, Modified: held}},
		Do: []store.Op{{Key: ElectionKey, Value: t.id, Lease: t.lease}},
	})
	switch {
	case err == nil:
		t.held.Store(revision)
		return revision, nil
	case !errors.Is(err, store.ErrConflict):
		return 0, err
	}
	// An earlier Settle got no answer but was applied: that settles everything sent before it, under the old revision.
	if err := t.adopt(ctx); err != nil {
		return 0, err
	}
	return t.held.Load(), nil
}

// adopt sets held to the key's newest revision if the key is still this process's. It requires renewing.
func (t *Term) adopt(ctx context.Context) error {
	entry, err := t.Get(ctx, ElectionKey)
	if errors.Is(err, store.ErrNotFound) { // the lease has ended
		t.lose()
		return ErrDeposed
	}
	if err != nil {
		return fmt.Errorf("read the election: %w", err)
	}
	if string(entry.Value) != string(t.id) {
		t.lose()
		return ErrDeposed
	}
	t.held.Store(entry.Modified)
	return nil
}
