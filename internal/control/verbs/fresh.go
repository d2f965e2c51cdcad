package verbs

import (
	"context"
	"fmt"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Lister is the part of a store that reports its newest revision.
type Lister interface {
	List(ctx context.Context, prefix string, opts store.ListOptions) (store.Page, error)
}

// FromView reads from a view after it has caught up with the store: one small read at the store decides how new the
// snapshot must be, and everything else comes from memory.
type FromView struct {
	Store Lister
	View  *view.View
}

// Fresh returns a snapshot at least as new as every commit made before the call, on any server.
func (f FromView) Fresh(ctx context.Context) (records.Snapshot, error) {
	page, err := f.Store.List(ctx, records.SchemaKey, store.ListOptions{Limit: 1})
	if err != nil {
		return records.Snapshot{}, store.Why(err)
	}
	if err := f.View.WaitFor(ctx, page.Revision); err != nil {
		return records.Snapshot{}, fmt.Errorf("wait for revision %d: %w", page.Revision, err)
	}
	return records.Snapshot{Reader: f.View.Snapshot()}, nil
}
