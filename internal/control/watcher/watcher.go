package watcher

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/internal/core/watch"
)

// ErrRunning is the error of a Run while another one runs.
var ErrRunning = errors.New("the watcher runs already")

// Handler is called with a change. Its error is logged.
type Handler[T any] func(ctx context.Context, change watch.Change[T]) error

type namedHandler[T any] struct {
	name string
	Handler[T]
}

// Watcher polls. Create it with New.
type Watcher[T any] struct {
	options Options[T]

	mu       sync.Mutex
	running  bool
	handlers []*namedHandler[T]
	cache    map[string]watch.Item[T]
}

// New returns a Watcher that does nothing before Run.
func New[T any](o Options[T]) *Watcher[T] { return &Watcher[T]{options: o.withDefaults()} }

// Handle adds a handler. Handlers are called in the order in which they were added; so one that publishes changes is
// added last. The returned function removes it.
func (w *Watcher[T]) Handle(name string, handler Handler[T]) (remove func()) {
	added := &namedHandler[T]{name, handler}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handlers = append(w.handlers, added)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.handlers = slices.DeleteFunc(slices.Clone(w.handlers), func(h *namedHandler[T]) bool { return h == added })
	}
}

// Run polls until ctx ends, and then forgets the cache. A second Run at the same time returns ErrRunning.
func (w *Watcher[T]) Run(ctx context.Context) error {
	w.mu.Lock()
	if w.running {
		w.mu.Unlock()
		w.options.Logger.WarnContext(ctx, "the watcher runs already")
		return ErrRunning
	}
	w.running = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.running, w.cache = false, nil
		w.mu.Unlock()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	wait, failed := w.options.Interval, false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		err := w.poll(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			wait = w.options.Interval
		} else if failed {
			wait = min(2*wait, w.options.Backoff)
		}
		failed = err != nil
		w.options.Polled(err)
		timer.Reset(wait)
	}
}

// poll lists once, calls the handlers with what changed, and keeps the listing. It changes nothing if it fails.
func (w *Watcher[T]) poll(ctx context.Context) error {
	began := time.Now()
	listed, err := w.list(ctx)
	m := w.options.Metrics
	m.polled(w.options.Name, time.Since(began))
	if err != nil {
		if ctx.Err() == nil {
			w.options.Logger.WarnContext(ctx, "listing failed; what was listed before counts", "error", err)
		}
		return err
	}
	w.mu.Lock()
	cache, handlers := w.cache, slices.Clone(w.handlers)
	w.mu.Unlock()
	changes := watch.Diff(cache, listed)
	m.compared(w.options.Name, compared(cache, listed), len(changes))
	for _, change := range changes {
		m.detected(w.options.Name, change.Type)
		for _, h := range handlers {
			if err := w.call(ctx, h, change); err != nil {
				w.options.Logger.ErrorContext(ctx, "a handler failed", "handler", h.name, "change", change.Type,
					"resource",
					change.ID, "error", err)
			}
		}
	}
	w.mu.Lock()
	w.cache = listed
	w.mu.Unlock()
	return nil
}

// compared returns how many objects two listings have together.
func compared[T any](cache, listed map[string]watch.Item[T]) int {
	n := len(listed)
	for id := range cache {
		if _, both := listed[id]; !both {
			n++
		}
	}
	return n
}

// list returns deep copies of the chosen objects by their id.
func (w *Watcher[T]) list(ctx context.Context) (out map[string]watch.Item[T], err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeoutCause(ctx, w.options.Timeout,
		fmt.Errorf("no listing within %s", w.options.Timeout))
	defer cancel()
	objects, err := w.options.List(ctx, w.options.Selector)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	out = make(map[string]watch.Item[T], len(objects))
	for _, object := range objects {
		object = w.options.Clone(object)
		if facts := w.options.Facts(object); w.options.Selector.Matches(facts) {
			out[facts.ID] = watch.Item[T]{Facts: facts, Object: object}
		}
	}
	return out, nil
}

func (w *Watcher[T]) call(ctx context.Context, h *namedHandler[T], change watch.Change[T]) (err error) {
	defer recovered(&err)
	change.Object = w.options.Clone(change.Object)
	if change.Type != watch.Created {
		change.Old = w.options.Clone(change.Old)
	}
	return h.Handler(ctx, change)
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
	}
}
