package memory

import (
	"context"
	"fmt"
	"strings"

	"tend.dev/tend/internal/store"
)

// watch reads the commits at its reader's pace; nothing is buffered for it.
type watch struct {
	store  *Store
	prefix string
	// next is the first revision not delivered yet.
	next    int64
	batches chan store.Batch
	// err is written once, before batches is closed.
	err error
}

// Watch streams commits.
func (s *Store) Watch(ctx context.Context, prefix string, from int64) store.Watcher {
	if from == 0 {
		s.mu.Lock()
		from = s.newestLocked().revision + 1
		s.mu.Unlock()
	}
	w := &watch{store: s, prefix: prefix, next: from, batches: make(chan store.Batch)}
	go w.run(ctx)
	return w
}

func (w *watch) Batches() <-chan store.Batch { return w.batches }

func (w *watch) Err() error { return w.err }

func (w *watch) run(ctx context.Context) {
	defer close(w.batches)
	for w.err == nil {
		commits, grown, err := w.store.since(w.next)
		if err != nil {
			w.err = fmt.Errorf("watch %q: %w", w.prefix, err)
			return
		}
		for _, c := range commits {
			if w.err = w.deliver(ctx, c); w.err != nil {
				return
			}
			w.next = c.revision + 1
		}
		w.err = w.wait(ctx, grown)
	}
}

func (w *watch) deliver(ctx context.Context, c commit) error {
	events := under(w.prefix, c.events)
	if len(events) == 0 {
		return nil
	}
	select {
	case w.batches <- store.Batch{Revision: c.revision, Events: events}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.store.done:
		return store.ErrClosed
	}
}

func (w *watch) wait(ctx context.Context, grown <-chan struct{}) error {
	select {
	case <-grown:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.store.done:
		return store.ErrClosed
	}
}

// since returns the commits from a revision on, and a channel that is closed when there may be more.
func (s *Store) since(revision int64) ([]commit, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest, newest := s.commits[0].revision, s.newestLocked().revision
	switch {
	case revision < oldest:
		return nil, nil, fmt.Errorf("revision %d: %w (the oldest is %d)", revision, store.ErrCompacted, oldest)
	case revision > newest:
		return nil, s.grown, nil
	}
	return s.commits[revision-oldest:], s.grown, nil
}

// under returns the events below a prefix.
func under(prefix string, events []store.Event) []store.Event {
	if prefix == "" {
		return events
	}
	var found []store.Event
	for _, e := range events {
		if strings.HasPrefix(e.Key, prefix) {
			found = append(found, e)
		}
	}
	return found
}
