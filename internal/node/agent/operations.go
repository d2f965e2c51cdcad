package agent

import (
	"context"
	"sync"

	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
)

// operations are calls that block for long, run outside of the workers: at most one per key, and a bounded number of
// places.
type operations struct {
	reconciler.Member
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}

	mu      sync.Mutex
	running map[string]bool
	closed  bool
	wait    recovery.Group
}

func newOperations(atOnce int) *operations {
	o := &operations{slots: make(chan struct{}, atOnce), running: map[string]bool{}}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	o.Member = reconciler.NewMember(o.drain)
	return o
}

// drain cancels what runs when the agent stops.
func (o *operations) drain(ctx context.Context) error {
	<-ctx.Done()
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.cancel()
	o.wait.Wait()
	return nil
}

// begin runs do unless the key is already running. done is called with the result once the key is free again; it is not
// called if the agent stopped meanwhile. do is part of the trace of from. cancel ends it early.
func (o *operations) begin(
	from context.Context, key string, do func(ctx context.Context) error, done func(error),
) (cancel func()) {
	return o.beginUnlimited(from, key, func(ctx context.Context) error { return o.limited(ctx, do) }, done)
}

// beginUnlimited is begin for what waits first, and then calls limited.
func (o *operations) beginUnlimited(
	from context.Context, key string, do func(ctx context.Context) error, done func(error),
) (cancel func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.running[key] {
		return func() {}
	}
	o.running[key] = true
	ctx, cancel := context.WithCancel(tracing.Join(o.ctx, from))
	o.wait.Go(func() {
		defer cancel()
		err := recovery.Call(func() error { return do(ctx) }, "action", key)
		o.mu.Lock()
		delete(o.running, key)
		o.mu.Unlock()
		if o.ctx.Err() == nil {
			done(err)
		}
	})
	return cancel
}

// limited runs do when one of the places is free.
func (o *operations) limited(ctx context.Context, do func(ctx context.Context) error) error {
	select {
	case o.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-o.slots }()
	return do(ctx)
}

func (o *operations) runs(key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.running[key]
}

// results keeps the results of operations until their key is reconciled.
type results[K comparable] struct {
	mu   sync.Mutex
	ends map[K]error
}

func newResults[K comparable]() *results[K] { return &results[K]{ends: map[K]error{}} }

func (r *results[K]) put(key K, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.ends[key] = err
	}
}

// take returns, once, the error that an operation ended with.
func (r *results[K]) take(key K) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.ends[key]
	delete(r.ends, key)
	return err
}

// waiters are tasks that wait for another one to stop.
type waiters struct {
	mu            sync.Mutex
	byPredecessor map[string]map[string]bool
}

func newWaiters() *waiters { return &waiters{byPredecessor: map[string]map[string]bool{}} }

func (w *waiters) add(predecessor, task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPredecessor[predecessor] == nil {
		w.byPredecessor[predecessor] = map[string]bool{}
	}
	w.byPredecessor[predecessor][task] = true
}

func (w *waiters) remove(predecessor, task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byPredecessor[predecessor], task)
	if len(w.byPredecessor[predecessor]) == 0 {
		delete(w.byPredecessor, predecessor)
	}
}

func (w *waiters) pop(predecessor string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var tasks []string
	for task := range w.byPredecessor[predecessor] {
		tasks = append(tasks, task)
	}
	delete(w.byPredecessor, predecessor)
	return tasks
}
