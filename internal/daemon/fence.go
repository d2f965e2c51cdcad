package daemon

import (
	"context"
	"errors"
	"fmt"

	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store"
)

// electionKey holds the id of the process whose controllers may write.
const electionKey = layout.LeasesPrefix + "controllers"

// errDeposed ends a server whose controllers were taken over.
var errDeposed = errors.New("another server took over the controllers")

// fenced is a committer whose every commit compares the election key, so that a server that lost it can write nothing.
type fenced struct {
	store.Store
	held int64
}

// takeOver claims the controllers. The one member of an embedded store has nobody to wait for: whoever opened the data
// dir before is gone.
func takeOver(ctx context.Context, s store.Store) (*fenced, error) {
	txn := store.Txn{Site: "election", Do: []store.Op{{Key: electionKey, Value: []byte(control.RandomHex(8))}}}
	revision, err := s.Commit(ctx, txn)
	if errors.Is(err, store.ErrNoSpace) {
		return inherit(ctx, s, err)
	}
	if err != nil {
		return nil, fmt.Errorf("claim the controllers: %w", err)
	}
	return &fenced{Store: s, held: revision}, nil
}

// inherit goes on under the claim of the process before where the disk is too full for one of our own: a full disk makes
// a server read-only, it doesn't keep one from starting.
func inherit(ctx context.Context, s store.Store, full error) (*fenced, error) {
	entry, err := s.Get(ctx, electionKey)
	if err != nil {
		return nil, fmt.Errorf("claim the controllers: %w", full)
	}
	return &fenced{Store: s, held: entry.Modified}, nil
}

// Commit commits under the election.
func (f *fenced) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	txn.If = append([]store.Condition{{Key: electionKey, Modified: f.held}}, txn.If...)
	revision, err := f.Store.Commit(ctx, txn)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) && conflict.Key == electionKey {
		return 0, fmt.Errorf("%w: %w", errDeposed, err)
	}
	return revision, err
}
