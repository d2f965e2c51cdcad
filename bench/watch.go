package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

// watchPuts is the number of writes that each store gets.
const watchPuts = 400

// watches measures the time from a write to the start of the reconcile that it causes, through view and queue, against
// the time from the same write to its event on a bare watch of the store.
func watches(ctx context.Context, l *harness) error {
	if err := watchThrough(ctx, "memory", memory.New()); err != nil {
		return err
	}
	embedded, err := etcd.Open(ctx, etcd.Options{DataDir: filepath.Join(l.dir, "watch")})
	if err != nil {
		return err
	}
	return watchThrough(ctx, "etcd", embedded)
}

func watchThrough(ctx context.Context, name string, s store.Store) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	quiet := slog.New(slog.DiscardHandler)
	v := view.New(s, view.Options{Logger: quiet})
	started := make(chan time.Time, 1)
	c := reconciler.New(reconciler.Options{
		Name: "bench", Synced: v.Synced(), Logger: quiet,
		Reconciler: reconciler.Func(func(context.Context, reconciler.Key) (reconciler.Result, error) {
			started <- time.Now()
			return reconciler.Result{}, nil
		}),
	})
	v.OnChange(func(change view.Change) { c.Enqueue(reconciler.Key{Kind: "bench", Name: change.Key}) })
	ended := make(chan error, 2)
	go func() { ended <- v.Run(ctx) }()
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
		<-ended
		err = errors.Join(err, s.Close())
	}()
	<-c.Ready()
	t, err := timePuts(ctx, s, started)
	if err != nil {
		return err
	}
	compare("watch-"+name, t, "reconcile", "event", "bare-watch")
	return nil
}

// timePuts writes one key after another, each once the previous write was seen everywhere.
func timePuts(ctx context.Context, s store.Store, started <-chan time.Time) (times, error) {
	watch := s.Watch(ctx, "/bench/", 0)
	seen := make(chan time.Time)
	go func() {
		for range watch.Batches() {
			select {
			case seen <- time.Now():
			case <-ctx.Done():
				return
			}
		}
	}()
	out := times{}
	for i := range watchPuts {
		began := time.Now()
		_, err := s.Commit(ctx, store.Txn{Do: []store.Op{{Key: fmt.Sprintf("/bench/%d", i), Value: make([]byte, 1024)}}})
		if err != nil {
			return nil, err
		}
		for name, channel := range map[string]<-chan time.Time{"event": seen, "reconcile": started} {
			select {
			case at := <-channel:
				out[name] = append(out[name], at.Sub(began))
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
	return out, nil
}
