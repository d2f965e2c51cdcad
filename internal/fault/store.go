package fault

import (
	"context"
	"time"

	"tend.dev/tend/internal/store"
)

// Store adds the points to a store.
func Store(inner store.Store, points *Points) store.Store {
	if points == nil {
		return inner
	}
	return &faultyStore{inner: inner, points: points}
}

// faultyStore has a point before and after every write. Reads have none: a crash there is equal to one before the next
// write.
type faultyStore struct {
	inner  store.Store
	points *Points
}

func (s *faultyStore) Get(ctx context.Context, key string) (entry store.Entry, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		entry, err = s.inner.Get(ctx, key)
		return err
	})
	return entry, err
}

func (s *faultyStore) List(ctx context.Context, prefix string, opts store.ListOptions) (page store.Page, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		page, err = s.inner.List(ctx, prefix, opts)
		return err
	})
	return page, err
}

func (s *faultyStore) Commit(ctx context.Context, txn store.Txn) (revision int64, err error) {
	site := txn.Site
	if site == "" {
		site = "unnamed"
	}
	err = s.points.call(ctx, "store."+site, func(ctx context.Context) error {
		revision, err = s.inner.Commit(ctx, txn)
		return err
	})
	return orZero(revision, err), err
}

func (s *faultyStore) Grant(ctx context.Context, ttl time.Duration) (id store.LeaseID, err error) {
	err = s.points.call(ctx, "store.grant", func(ctx context.Context) error {
		id, err = s.inner.Grant(ctx, ttl)
		return err
	})
	return orZero(id, err), err
}

func (s *faultyStore) KeepAlive(ctx context.Context, id store.LeaseID) error {
	return s.points.call(ctx, "store.keepalive", func(ctx context.Context) error { return s.inner.KeepAlive(ctx, id) })
}

func (s *faultyStore) Revoke(ctx context.Context, id store.LeaseID) error {
	return s.points.call(ctx, "store.revoke", func(ctx context.Context) error { return s.inner.Revoke(ctx, id) })
}

func (s *faultyStore) Compact(ctx context.Context, revision int64) error {
	return s.points.call(ctx, "store.compact", func(ctx context.Context) error { return s.inner.Compact(ctx, revision) })
}

// Close always reaches the store: the machine closes what a dead process held open.
func (s *faultyStore) Close() error { return s.inner.Close() }

// Watch ends with the server.
func (s *faultyStore) Watch(ctx context.Context, prefix string, from int64) store.Watcher {
	ctx, _ = s.points.mortal(ctx)
	return &mortalWatcher{Watcher: s.inner.Watch(ctx, prefix, from), points: s.points}
}

type mortalWatcher struct {
	store.Watcher
	points *Points
}

func (w *mortalWatcher) Err() error { return w.points.outcome(w.Watcher.Err()) }

// read runs f unless the server has crashed.
func (s *faultyStore) read(ctx context.Context, f func(ctx context.Context) error) error {
	if err := s.points.dead(); err != nil {
		return err
	}
	ctx, release := s.points.mortal(ctx)
	defer release()
	return s.points.outcome(f(ctx))
}

// orZero returns the zero value with an error: a dead caller doesn't get the result of its last call.
func orZero[T any](value T, err error) T {
	if err != nil {
		var zero T
		return zero
	}
	return value
}
