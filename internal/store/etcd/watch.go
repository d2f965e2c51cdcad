package etcd

import (
	"context"
	"fmt"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tend.dev/tend/internal/store"
)

// watcher is a running watch.
type watcher struct {
	batches chan store.Batch
	mu      sync.Mutex
	err     error
}

// Batches delivers commits.
func (w *watcher) Batches() <-chan store.Batch { return w.batches }

// Err returns the reason why the channel closed.
func (w *watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *watcher) fail(err error) {
	w.mu.Lock()
	w.err = err
	w.mu.Unlock()
	close(w.batches)
}

// Watch streams commits under a prefix from a revision on; 0 means from now.
func (s *calls) Watch(ctx context.Context, prefix string, from int64) store.Watcher {
	w := &watcher{batches: make(chan store.Batch)}
	inner, done, err := s.within(ctx)
	if err != nil {
		w.fail(err)
		return w
	}
	if from == 0 {
		// "Now" is the time of this call, not the time at which etcd handles it.
		page, err := s.List(inner, nothing, store.ListOptions{Limit: 1})
		if err != nil {
			done()
			w.fail(err)
			return w
		}
		from = page.Revision + 1
	}
	start, end := bounds(prefix)
	stream := s.client.Watch(inner, start, clientv3.WithRange(end), clientv3.WithRev(from))
	if !s.spawn(func() {
		defer done()
		w.fail(s.pump(ctx, inner, stream, w.batches))
	}) {
		done()
		w.fail(s.ended())
	}
	return w
}

// pump converts responses to batches until the watch ends, and returns the reason.
func (s *calls) pump(ctx, inner context.Context, stream clientv3.WatchChan, out chan<- store.Batch) error {
	for response := range stream {
		if response.CompactRevision != 0 {
			return fmt.Errorf("watch: %w (oldest kept is %d)", store.ErrCompacted, response.CompactRevision)
		}
		batches := split(response.Events)
		if response.IsProgressNotify() {
			batches = []store.Batch{{Revision: response.Header.Revision}}
		}
		for _, batch := range batches {
			select {
			case out <- batch:
			case <-inner.Done():
				return s.over(ctx)
			}
		}
	}
	return s.over(ctx)
}

// over returns the reason why a watch ended.
func (s *calls) over(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.lifetime.Err() != nil:
		return s.ended()
	}
	return store.ErrWatchLost
}

// split returns one batch for each revision's events: a response may hold several commits.
func split(events []*clientv3.Event) []store.Batch {
	var out []store.Batch
	for _, e := range events {
		if len(out) == 0 || out[len(out)-1].Revision != e.Kv.ModRevision {
			out = append(out, store.Batch{Revision: e.Kv.ModRevision})
		}
		last := &out[len(out)-1]
		if e.Type == clientv3.EventTypeDelete {
			last.Events = append(last.Events, store.Event{
				Entry: store.Entry{Key: string(e.Kv.Key), Modified: e.Kv.ModRevision}, Deleted: true,
			})
			continue
		}
		last.Events = append(last.Events, store.Event{Entry: entry(e.Kv)})
	}
	return out
}
