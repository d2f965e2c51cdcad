package store

import (
	"context"
	"time"
)

// Around returns inner with each call run by between, which is given the name of the call: get, list, commit, grant,
// keepalive, revoke or compact. Watch and Close pass through.
func Around(inner Store, between func(ctx context.Context, name string, call func(context.Context) error) error) Store {
	return &around{inner, between}
}

// around is a store whose calls run within between.
type around struct {
	Store
	between func(ctx context.Context, name string, call func(context.Context) error) error
}

// answered runs a call that returns a value. If the call or between fails, it returns the zero value with the error.
func answered[T any](
	ctx context.Context, a *around, name string, call func(context.Context) (T, error),
) (answer T, err error) {
	err = a.between(ctx, name, func(ctx context.Context) (err error) {
		answer, err = call(ctx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return answer, nil
}

func (a *around) Get(ctx context.Context, key string) (Entry, error) {
	return answered(ctx, a, "get", func(ctx context.Context) (Entry, error) { return a.Store.Get(ctx, key) })
}

func (a *around) List(ctx context.Context, prefix string, opts ListOptions) (Page, error) {
	return answered(ctx, a, "list", func(ctx context.Context) (Page, error) { return a.Store.List(ctx, prefix, opts) })
}

func (a *around) Commit(ctx context.Context, txn Txn) (int64, error) {
	return answered(ctx, a, "commit", func(ctx context.Context) (int64, error) { return a.Store.Commit(ctx, txn) })
}

func (a *around) Grant(ctx context.Context, ttl time.Duration) (LeaseID, error) {
	return answered(ctx, a, "grant", func(ctx context.Context) (LeaseID, error) { return a.Store.Grant(ctx, ttl) })
}

func (a *around) KeepAlive(ctx context.Context, id LeaseID) error {
	return a.between(ctx, "keepalive", func(ctx context.Context) error { return a.Store.KeepAlive(ctx, id) })
}

func (a *around) Revoke(ctx context.Context, id LeaseID) error {
	return a.between(ctx, "revoke", func(ctx context.Context) error { return a.Store.Revoke(ctx, id) })
}

func (a *around) Compact(ctx context.Context, revision int64) error {
	return a.between(ctx, "compact", func(ctx context.Context) error { return a.Store.Compact(ctx, revision) })
}
