package fault

import (
	"cmp"
	"context"

	"tend.dev/tend/internal/store"
)

// Store adds the points to a store. Close always reaches the store: the machine closes the files of a dead process.
func (p *Points) Store(inner store.Store) store.Store {
	if p == nil {
		return inner
	}
	return &faultyStore{store.Around(inner, p.aroundStore), inner, p}
}

// aroundStore adds a point before and after every write. Reads have none: a crash there equals a crash before the next
// write.
func (p *Points) aroundStore(ctx context.Context, name string, call func(context.Context) error) error {
	if name != "get" && name != "list" {
		return p.call(ctx, "store."+name, call)
	}
	if err := p.dead(); err != nil {
		return err
	}
	ctx, release := p.mortal(ctx)
	defer release()
	return p.outcome(call(ctx))
}

type faultyStore struct {
	store.Store
	inner  store.Store
	points *Points
}

// Commit has the points of its transaction's site.
func (s *faultyStore) Commit(ctx context.Context, txn store.Txn) (revision int64, err error) {
	err = s.points.call(ctx, "store."+cmp.Or(txn.Site, "unnamed"), func(ctx context.Context) error {
		revision, err = s.inner.Commit(ctx, txn)
		return err
	})
	return orZero(revision, err), err
}

// Watch returns a watch that ends at the crash.
func (s *faultyStore) Watch(ctx context.Context, prefix string, from int64) store.Watcher {
	ctx, _ = s.points.mortal(ctx)
	return &mortalWatcher{Watcher: s.inner.Watch(ctx, prefix, from), points: s.points}
}

type mortalWatcher struct {
	store.Watcher
	points *Points
}

func (w *mortalWatcher) Err() error { return w.points.outcome(w.Watcher.Err()) }

// orZero returns the zero value if err is set: a dead caller doesn't get the result of its last call.
func orZero[T any](value T, err error) T {
	if err != nil {
		var zero T
		return zero
	}
	return value
}
