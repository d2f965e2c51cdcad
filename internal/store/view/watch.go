package view

import (
	"context"
	"strings"
	"sync"

	"tend.dev/tend/internal/platform/recovery"
)

// WatchOptions select what to watch. The zero value is everything from now on.
type WatchOptions struct {
	// From is the first revision wanted; 0 is from now.
	From   int64
	Prefix string
	// Match selects the changes; nil selects all. The feeding goroutine calls it, and the watch's own for changes in the
	// past: it must be quick and pure. If it panics, the watch ends with ErrGone.
	Match func(Change) bool
	// Buffer is the number of commits that may wait for the reader before the watch ends with ErrGone; default 1024.
	Buffer int
}

// Watch delivers changes to one reader. The feeding goroutine selects its changes and wakes only the readers concerned;
// the slices it delivers are shared if all of a commit's changes match.
type Watch struct {
	options WatchOptions
	changes chan []Change
	// wake holds a token when pending or over has changed.
	wake chan struct{}
	// backlog holds the commits from before the watch was made; it is in the history, so it doesn't count against
	// Buffer.
	backlog []commit
	err     error

	mu      sync.Mutex
	pending [][]Change
	over    error
}

// Watch streams changes from memory until ctx ends or the reader falls behind.
func (v *View) Watch(ctx context.Context, o WatchOptions) *Watch {
	if o.Buffer <= 0 {
		o.Buffer = 1024
	}
	w := &Watch{options: o, changes: make(chan []Change), wake: make(chan struct{}, 1)}
	v.mu.Lock()
	v.watches.add(w)
	// Before the first listing this is unknown: watches.begin decides.
	if o.From > 0 && v.Revision() > 0 {
		var kept bool
		if w.backlog, kept = v.history.since(o.From); !kept {
			w.end(ErrGone)
		}
	}
	v.mu.Unlock()
	recovery.Go(func() {
		err := w.deliver(ctx)
		v.mu.Lock()
		v.watches.remove(w)
		v.mu.Unlock()
		w.err = err
		close(w.changes)
	})
	return w
}

// Changes delivers one slice per commit; it must not be modified. The channel is closed at the end.
func (w *Watch) Changes() <-chan []Change { return w.changes }

// Err returns the reason why Changes was closed: ErrGone, or the context's error. It is valid after the close.
func (w *Watch) Err() error { return w.err }

// deliver sends the backlog, then the changes that are offered.
func (w *Watch) deliver(ctx context.Context) error {
	for _, c := range w.backlog {
		if changes := w.matching(under(w.options.Prefix, c.changes)); len(changes) > 0 {
			if err := w.send(ctx, changes); err != nil {
				return err
			}
		}
	}
	w.backlog = nil
	for {
		changes, err := w.take()
		if err != nil {
			return err
		}
		if changes != nil {
			err = w.send(ctx, changes)
		} else {
			err = w.rest(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// send waits for the reader, but not beyond the watch's own end.
func (w *Watch) send(ctx context.Context, changes []Change) error {
	for {
		select {
		case w.changes <- changes:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
			// New changes are pending, which can wait, or the watch is over.
			w.mu.Lock()
			over := w.over
			w.mu.Unlock()
			if over != nil {
				return over
			}
		}
	}
}

func (w *Watch) rest(ctx context.Context) error {
	select {
	case <-w.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take removes the oldest pending slice; nil when there is none.
func (w *Watch) take() ([]Change, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over != nil || len(w.pending) == 0 {
		w.pending = nil
		return nil, w.over
	}
	changes := w.pending[0]
	w.pending = w.pending[1:]
	return changes, nil
}

// offer queues the changes that match.
func (w *Watch) offer(revision int64, changes []Change) {
	if revision < w.options.From {
		return
	}
	changes = w.matching(changes)
	if len(changes) == 0 {
		return
	}
	w.mu.Lock()
	full := len(w.pending) >= w.options.Buffer
	if !full {
		w.pending = append(w.pending, changes)
	}
	w.mu.Unlock()
	if full {
		w.end(ErrGone)
		return
	}
	w.signal()
}

func (w *Watch) end(err error) {
	w.mu.Lock()
	w.over, w.pending = err, nil
	w.mu.Unlock()
	w.signal()
}

func (w *Watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Watch) matching(changes []Change) []Change {
	if w.options.Match == nil {
		return changes
	}
	var matched []Change
	if recovery.Call(func() error { matched = some(changes, w.options.Match); return nil }) != nil {
		w.end(ErrGone)
	}
	return matched
}

func under(prefix string, changes []Change) []Change {
	if prefix == "" {
		return changes
	}
	return some(changes, func(c Change) bool { return strings.HasPrefix(c.Key, prefix) })
}

// some returns the wanted changes: the same slice if all are wanted, so that a thousand watches share one.
func some(changes []Change, wanted func(Change) bool) []Change {
	for i, c := range changes {
		if wanted(c) {
			continue
		}
		kept := append([]Change(nil), changes[:i]...)
		for _, c := range changes[i+1:] {
			if wanted(c) {
				kept = append(kept, c)
			}
		}
		return kept
	}
	return changes
}
