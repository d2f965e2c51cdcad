package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
)

var watchChecks = map[string]check{
	"history comes first, then what follows":     watchHistoryThenLive,
	"one batch a commit, in the order written":   watchBatchPerCommit,
	"other prefixes are not seen":                watchPrefix,
	"from a list, nothing is missed or repeated": watchAfterList,
	"a racing writer leaves no gap":              watchRacingWriter,
	"from now sees the next commit first":        watchFromNow,
	"from the future waits for it":               watchFromFuture,
	"from a compacted revision is refused":       watchCompacted,
	"from the compacted revision itself works":   watchFromCompactRevision,
	"compaction doesn't disturb who keeps up":    watchThroughCompaction,
	"the context's end closes it":                watchCancelled,
}

// next reads batches with events until there are n.
func next(ctx context.Context, t *testing.T, w store.Watcher, n int) []store.Batch {
	t.Helper()
	var got []store.Batch
	for len(got) < n {
		select {
		case b, open := <-w.Batches():
			if !open {
				t.Fatalf("watch ended after %d of %d batches: %v", len(got), n, w.Err())
			}
			if len(b.Events) > 0 {
				got = append(got, b)
			}
		case <-ctx.Done():
			t.Fatalf("%d of %d batches came", len(got), n)
		}
	}
	return got
}

// end waits for the close and returns the watch's error.
func end(t *testing.T, w store.Watcher) error {
	t.Helper()
	ctx := within(t)
	for {
		select {
		case _, open := <-w.Batches():
			if !open {
				return w.Err()
			}
		case <-ctx.Done():
			t.Fatal("the watch did not end")
		}
	}
}

func putEvent(key, value string, created, modified int64) store.Event {
	return store.Event{Entry: store.Entry{Key: key, Value: []byte(value), Created: created, Modified: modified}}
}

func deleteEvent(key string, revision int64) store.Event {
	return store.Event{Entry: store.Entry{Key: key, Modified: revision}, Deleted: true}
}

func watchHistoryThenLive(t *testing.T, s store.Store) {
	ctx := within(t)
	r1 := mustCommit(t, s, put("/a", "1"))
	r2 := mustCommit(t, s, put("/a", "2"))
	w := s.Watch(ctx, "/", r1)
	got := next(ctx, t, w, 2)
	r3 := mustCommit(t, s, del("/a"))
	got = append(got, next(ctx, t, w, 1)...)
	want := []store.Batch{
		{Revision: r1, Events: []store.Event{putEvent("/a", "1", r1, r1)}},
		{Revision: r2, Events: []store.Event{putEvent("/a", "2", r1, r2)}},
		{Revision: r3, Events: []store.Event{deleteEvent("/a", r3)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func watchBatchPerCommit(t *testing.T, s store.Store) {
	ctx := within(t)
	r0 := mustCommit(t, s, put("/old", "0"))
	live := s.Watch(ctx, "/", r0+1)
	r1 := mustCommit(t, s, put("/b", "1"), del("/old"), put("/a", "1"), del("/never"))
	want := []store.Batch{{Revision: r1, Events: []store.Event{
		putEvent("/b", "1", r1, r1), deleteEvent("/old", r1), putEvent("/a", "1", r1, r1),
	}}}
	if diff := cmp.Diff(want, next(ctx, t, live, 1)); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, next(ctx, t, s.Watch(ctx, "/", r1), 1)); diff != "" {
		t.Errorf("from history (-want +got):\n%s", diff)
	}
}

func watchPrefix(t *testing.T, s store.Store) {
	ctx := within(t)
	w := s.Watch(ctx, "/k/", 0)
	mustCommit(t, s, put("/k", ""), put("/k0", ""), put("/j/1", ""))
	mustCommit(t, s, put("/other", "1"))
	r := mustCommit(t, s, put("/l", ""), put("/k/1", ""))
	got := next(ctx, t, w, 1)
	want := []store.Batch{{Revision: r, Events: []store.Event{putEvent("/k/1", "", r, r)}}}
	for i := range got[0].Events {
		got[0].Events[i].Value = append([]byte{}, got[0].Events[i].Value...) // an empty value may come as nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func watchAfterList(t *testing.T, s store.Store) {
	ctx := within(t)
	mustCommit(t, s, put("/a", "1"))
	page, err := s.List(ctx, "/", store.ListOptions{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	between := mustCommit(t, s, put("/b", "1"))
	w := s.Watch(ctx, "/", page.Revision+1)
	after := mustCommit(t, s, put("/c", "1"))
	got := next(ctx, t, w, 2)
	if got[0].Revision != between || got[1].Revision != after {
		t.Errorf("revisions %d, %d; want %d, %d", got[0].Revision, got[1].Revision, between, after)
	}
}

func watchRacingWriter(t *testing.T, s store.Store) {
	const commits = 150
	ctx := within(t)
	first := mustCommit(t, s, put("/n", "start")) + 1
	written := make(chan error, 1)
	go func() {
		for i := range commits {
			ops := []store.Op{put("/n", fmt.Sprint(i)), put(fmt.Sprintf("/k/%d", i%7), fmt.Sprint(i))}
			if _, err := s.Commit(ctx, store.Txn{Do: ops}); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	// Watches start at every stage of the writes; each must see every commit from its own start, once.
	for from := first; from < first+commits; from += 29 {
		w := s.Watch(ctx, "/", from)
		for i, b := range next(ctx, t, w, int(first+commits-from)) {
			if b.Revision != from+int64(i) || len(b.Events) != 2 {
				t.Fatalf("watch from %d: batch %d has revision %d and %d events", from, i, b.Revision, len(b.Events))
			}
		}
	}
	if err := <-written; err != nil {
		t.Fatalf("writer: %v", err)
	}
}

func watchFromNow(t *testing.T, s store.Store) {
	ctx := within(t)
	mustCommit(t, s, put("/a", "before"))
	w := s.Watch(ctx, "/", 0)
	r := mustCommit(t, s, put("/a", "after"))
	if got := next(ctx, t, w, 1); got[0].Revision != r {
		t.Errorf("first batch is of revision %d; want %d", got[0].Revision, r)
	}
}

func watchFromFuture(t *testing.T, s store.Store) {
	ctx := within(t)
	r := mustCommit(t, s, put("/a", "0"))
	w := s.Watch(ctx, "/", r+3)
	for i := range 3 {
		mustCommit(t, s, put("/a", fmt.Sprint(i+1)))
	}
	if got := next(ctx, t, w, 1); got[0].Revision != r+3 {
		t.Errorf("first batch is of revision %d; want %d", got[0].Revision, r+3)
	}
}

func watchCompacted(t *testing.T, s store.Store) {
	r := mustCommit(t, s, put("/a", "1"))
	newest := mustCommit(t, s, put("/a", "2"))
	if err := s.Compact(within(t), newest); err != nil {
		t.Fatalf("compact: %v", err)
	}
	mustBe(t, end(t, s.Watch(within(t), "/", r)), store.ErrCompacted)
}

func watchFromCompactRevision(t *testing.T, s store.Store) {
	ctx := within(t)
	mustCommit(t, s, put("/a", "1"), put("/b", "1"))
	r := mustCommit(t, s, put("/a", "2"), del("/b"))
	mustCommit(t, s, put("/c", "1"))
	if err := s.Compact(ctx, r); err != nil {
		t.Fatalf("compact: %v", err)
	}
	got := next(ctx, t, s.Watch(ctx, "/", r), 2)
	if got[0].Revision != r || len(got[0].Events) != 2 || got[1].Revision != r+1 {
		t.Errorf("batches %+v; want both events of %d, then %d", got, r, r+1)
	}
}

func watchThroughCompaction(t *testing.T, s store.Store) {
	ctx := within(t)
	w := s.Watch(ctx, "/", 0)
	for i := range 20 {
		r := mustCommit(t, s, put("/a", fmt.Sprint(i)))
		if got := next(ctx, t, w, 1); got[0].Revision != r {
			t.Fatalf("batch of revision %d; want %d", got[0].Revision, r)
		}
		if err := s.Compact(ctx, r); err != nil {
			t.Fatalf("compact: %v", err)
		}
	}
}

func watchCancelled(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(within(t))
	r := mustCommit(t, s, put("/a", "1"))
	w := s.Watch(ctx, "/", r)
	next(ctx, t, w, 1)
	unread := s.Watch(ctx, "/", r)
	cancel()
	mustBe(t, end(t, w), context.Canceled)
	mustBe(t, end(t, unread), context.Canceled)
	mustBe(t, end(t, s.Watch(ctx, "/", 0)), context.Canceled)
}
