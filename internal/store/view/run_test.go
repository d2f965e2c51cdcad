package view_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

// Writers race with the listing, the watch and the watches started meanwhile: a reader that replays the changes on the
// initial state must end with the same state as the view.
func TestNoGapUnderRacingWriters(t *testing.T) {
	s := memory.New()
	write(t, s, put("/n/0", "start"))
	const writers, commits = 4, 100
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			for i := range commits {
				ops := []store.Op{put(fmt.Sprintf("/w%d", w), fmt.Sprint(i)), put(fmt.Sprintf("/n/%d", i%5), fmt.Sprint(w, i))}
				if i%3 == 0 {
					ops[1] = del(ops[1].Key)
				}
				if _, err := s.Commit(t.Context(), store.Txn{Do: ops}); err != nil {
					t.Errorf("commit: %v", err)
				}
			}
		})
	}
	v := view.New(s, view.Options{Decode: decode, PageSize: 2, History: 10 * writers * commits})
	heard := make(chan view.Change, 4*writers*commits)
	v.OnChange(func(c view.Change) { heard <- c })
	run(t, v)
	<-v.Synced()
	first := v.Snapshot()
	watch := v.Watch(t.Context(), view.WatchOptions{From: first.Revision() + 1})
	done.Wait()
	final := commit(t, s, v, put("/end", "end"))

	state, revision := contents(first), first.Revision()
	for revision < final {
		changes := <-watch.Changes()
		if changes[0].Revision <= revision {
			t.Fatalf("revision %d follows %d", changes[0].Revision, revision)
		}
		revision = changes[0].Revision
		replay(t, state, changes)
	}
	if diff := cmp.Diff(contents(v.Snapshot()), state); diff != "" {
		t.Errorf("replayed by a watch (-view +replayed):\n%s", diff)
	}
	state = map[string]any{}
	for c := range heard {
		// The listener may have received commits before the snapshot was taken above.
		if c.Revision > first.Revision() {
			state[c.Key] = c.New
		}
		if c.Key == "/end" {
			break
		}
	}
	for key, value := range state {
		if got, ok := v.Snapshot().Get(key); ok != (value != nil) || got.Value != value {
			t.Errorf("%s: heard %v last, the view has %v", key, value, got.Value)
		}
	}
}

func replay(t *testing.T, state map[string]any, changes []view.Change) {
	t.Helper()
	for _, c := range changes {
		if diff := cmp.Diff(state[c.Key], c.Old); diff != "" {
			t.Fatalf("old value of %s at %d (-replayed +reported):\n%s", c.Key, c.Revision, diff)
		}
		if state[c.Key] = c.New; c.New == nil {
			delete(state, c.Key)
		}
	}
}

// A view that lost its position must report the missed changes, deletions included, as one commit of the listing's
// revision.
func TestListsAgainAndReportsTheDifference(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
	}{
		"compacted": {"the store forgot what the view had yet to read", store.ErrCompacted},
		"lost":      {"the store ended the watch", store.ErrWatchLost},
		"other":     {"any failure of the watch", errors.New("connection reset")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { listsAgain(t, c.err) })
		})
	}
}

func listsAgain(t *testing.T, cause error) {
	s := newFlaky()
	write(t, s, put("/gone", "1"), put("/kept", "1"), put("/changed", "1"), put("/again", "1"), put("/turned", "1"),
		put("/fixed", "bad"))
	v := view.New(s, view.Options{Decode: decode, PageSize: 2})
	var heard []view.Change
	v.OnChange(func(c view.Change) { heard = append(heard, c) })
	run(t, v)
	<-v.Synced()
	watch := v.Watch(t.Context(), view.WatchOptions{})

	release := s.cutWatches(cause)
	write(t, s, del("/gone"), del("/again"), put("/changed", "2"))
	write(t, s, put("/again", "2"), put("/new", "1"), put("/turned", "bad"), put("/fixed", "1"), put("/brief", "1"))
	revision := write(t, s, del("/brief"))
	if err := s.Compact(t.Context(), revision); err != nil {
		t.Fatalf("compact: %v", err)
	}
	release()

	want := []view.Change{
		{Revision: revision, Key: "/again", Old: "1", New: "2"},
		{Revision: revision, Key: "/changed", Old: "1", New: "2"},
		{Revision: revision, Key: "/fixed", New: "1"},
		{Revision: revision, Key: "/new", New: "1"},
		{Revision: revision, Key: "/turned", Old: "1"},
		{Revision: revision, Key: "/gone", Old: "1", Deleted: true},
	}
	if diff := cmp.Diff(want, <-watch.Changes()); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
	if err := v.WaitFor(t.Context(), revision); err != nil {
		t.Fatalf("wait: %v", err)
	}
	next := commit(t, s, v, put("/kept", "2"))
	want = append(want, view.Change{Revision: next, Key: "/kept", Old: "1", New: "2"})
	if diff := cmp.Diff(want[len(want)-1:], <-watch.Changes()); diff != "" {
		t.Errorf("watched after (-want +got):\n%s", diff)
	}
	synctest.Wait()
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// A listing that breaks in the middle must show nothing: half a list would look like a wave of deletions.
func TestFailedListingChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFlaky()
		write(t, s, put("/a", "1"), put("/b", "1"), put("/c", "1"))
		v := start(t, s, view.Options{Decode: decode, PageSize: 1})
		failed := make(chan struct{})
		release := s.cutWatches(store.ErrWatchLost)
		write(t, s, put("/a", "bad"), del("/c"))
		tries := 0
		s.failPages(func(page int) error {
			if page != 1 || tries == 3 {
				return nil
			}
			if tries++; tries == 3 {
				close(failed)
			}
			return errors.New("connection reset")
		})
		release()
		<-failed
		synctest.Wait()
		if diff := cmp.Diff(map[string]any{"/a": "1", "/b": "1", "/c": "1"}, contents(v.Snapshot())); diff != "" {
			t.Errorf("after three broken listings (-want +got):\n%s", diff)
		}
		commit(t, s, v, put("/d", "1"))
		if diff := cmp.Diff(map[string]any{"/b": "1", "/d": "1"}, contents(v.Snapshot())); diff != "" {
			t.Errorf("after a whole one (-want +got):\n%s", diff)
		}
	})
}

func TestUndecodableValueIsLoggedOnceAndLeftOut(t *testing.T) {
	s := memory.New()
	write(t, s, put("/good", "1"), put("/bad", "bad 1"), put("/panic", "panic"), put("/hidden", "hidden"))
	var log bytes.Buffer
	v := start(t, s, view.Options{Decode: decode, Indexes: []view.Index{words},
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	watch := v.Watch(t.Context(), view.WatchOptions{})
	commit(t, s, v, put("/bad", "bad 2"), put("/hidden", "hidden"))
	commit(t, s, v, put("/good", "bad 3"), put("/other", "1"))
	if diff := cmp.Diff(map[string]any{"/other": "1"}, contents(v.Snapshot())); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	revision := commit(t, s, v, put("/bad", "good now"), del("/panic"))
	for key, want := range map[string]int{"/bad": 1, "/panic": 1, "/good": 1, "/hidden": 0, "/other": 0} {
		if got := strings.Count(log.String(), "key="+key+" "); got != want {
			t.Errorf("%s is in the log %d times; want %d:\n%s", key, got, want, &log)
		}
	}
	want := [][]view.Change{
		{{Revision: revision - 1, Key: "/good", Old: "1"}, {Revision: revision - 1, Key: "/other", New: "1"}},
		{{Revision: revision, Key: "/bad", New: "good now"}},
	}
	if diff := cmp.Diff(want, [][]view.Change{<-watch.Changes(), <-watch.Changes()}); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
}
