package view_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

func ended(t *testing.T, w *view.Watch, want error) {
	t.Helper()
	for range w.Changes() {
	}
	if !errors.Is(w.Err(), want) {
		t.Errorf("watch ended with %v; want %v", w.Err(), want)
	}
}

func TestWatchTakesPrefixAndMatch(t *testing.T) {
	s := memory.New()
	v := start(t, s, view.Options{Decode: decode})
	from := commit(t, s, v, put("/k/0", "x before"))
	o := view.WatchOptions{From: from, Prefix: "/k/", Match: func(c view.Change) bool {
		return c.New != nil && strings.HasPrefix(c.New.(string), "x")
	}}
	early := v.Watch(t.Context(), o)
	commit(t, s, v, put("/k/1", "y"), put("/l/1", "x"))
	last := commit(t, s, v, put("/k/2", "y"), put("/k/3", "x"), put("/l/2", "x"), put("/k/4", "x"))
	late := v.Watch(t.Context(), o)
	want := [][]view.Change{
		{{Revision: from, Key: "/k/0", New: "x before"}},
		{{Revision: last, Key: "/k/3", New: "x"}, {Revision: last, Key: "/k/4", New: "x"}},
	}
	for name, w := range map[string]*view.Watch{"as it happens": early, "from history": late} {
		if diff := cmp.Diff(want, [][]view.Change{<-w.Changes(), <-w.Changes()}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWatchFrom(t *testing.T) {
	cases := map[string]struct {
		reason string
		from   func(first, newest int64) int64
		want   []int64 // revisions after newest; nil is ErrGone
	}{
		"now": {"only what follows", func(_, _ int64) int64 { return 0 }, []int64{1, 2}},
		"the past": {"history, then what follows", func(_, n int64) int64 { return n - 2 },
			[]int64{-2, -1, 0, 1, 2}},
		"the oldest kept": {"the first commit after the listing", func(f, _ int64) int64 { return f + 1 },
			[]int64{-3, -2, -1, 0, 1, 2}},
		"the next":          {"nothing of the past", func(_, n int64) int64 { return n + 1 }, []int64{1, 2}},
		"the future":        {"earlier commits are not wanted", func(_, n int64) int64 { return n + 2 }, []int64{2}},
		"the first listing": {"its commits were never seen one by one", func(f, _ int64) int64 { return f }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			first := write(t, s, put("/a", "listed"))
			v := start(t, s, view.Options{Decode: decode})
			var newest int64
			for i := range 4 {
				newest = commit(t, s, v, put("/a", fmt.Sprint(i)))
			}
			w := v.Watch(t.Context(), view.WatchOptions{From: c.from(first, newest)})
			if c.want == nil {
				ended(t, w, view.ErrGone)
				return
			}
			for i := range 2 {
				commit(t, s, v, put("/a", fmt.Sprint("after", i)))
			}
			for _, after := range c.want {
				if got := (<-w.Changes())[0].Revision; got != newest+after {
					t.Fatalf("revision %d; want %d: %s", got, newest+after, c.reason)
				}
			}
		})
	}
}

func TestWatchBeforeTheFirstListing(t *testing.T) {
	s := memory.New()
	newest := write(t, s, put("/a", "listed"))
	v := view.New(s, view.Options{Decode: decode})
	now := v.Watch(t.Context(), view.WatchOptions{})
	next := v.Watch(t.Context(), view.WatchOptions{From: newest + 1})
	past := v.Watch(t.Context(), view.WatchOptions{From: newest})
	run(t, v)
	ended(t, past, view.ErrGone)
	<-v.Synced()
	revision := commit(t, s, v, put("/a", "after"))
	want := []view.Change{{Revision: revision, Key: "/a", Old: "listed", New: "after"}}
	for name, w := range map[string]*view.Watch{"from now": now, "from the next": next} {
		if diff := cmp.Diff(want, <-w.Changes()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSlowReaderIsGone(t *testing.T) {
	s := memory.New()
	v := start(t, s, view.Options{Decode: decode})
	slow := v.Watch(t.Context(), view.WatchOptions{Buffer: 3, Prefix: "/a"})
	bystander := v.Watch(t.Context(), view.WatchOptions{Buffer: 3, Prefix: "/b"})
	for i := range 6 {
		commit(t, s, v, put("/a", fmt.Sprint(i)))
	}
	ended(t, slow, view.ErrGone)
	revision := commit(t, s, v, put("/b", "1"))
	if got := (<-bystander.Changes())[0].Revision; got != revision {
		t.Errorf("the other watch is at %d; want %d", got, revision)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	s := memory.New()
	v := start(t, s, view.Options{Decode: decode, History: 4})
	var newest int64
	for i := range 5 {
		newest = commit(t, s, v, put("/a", fmt.Sprint(i)), put("/b", fmt.Sprint(i)))
	}
	ended(t, v.Watch(t.Context(), view.WatchOptions{From: newest - 2}), view.ErrGone)
	w := v.Watch(t.Context(), view.WatchOptions{From: newest - 1})
	if got := [2]int64{(<-w.Changes())[0].Revision, (<-w.Changes())[0].Revision}; got != [2]int64{newest - 1, newest} {
		t.Errorf("revisions %v; want the last two commits, up to %d", got, newest)
	}
	wide := commit(t, s, v, put("/1", ""), put("/2", ""), put("/3", ""), put("/4", ""), put("/5", ""))
	ended(t, v.Watch(t.Context(), view.WatchOptions{From: wide}), view.ErrGone)
}

func TestWatchEndsWithItsContext(t *testing.T) {
	s := memory.New()
	v := start(t, s, view.Options{Decode: decode})
	ctx, cancel := context.WithCancel(t.Context())
	idle := v.Watch(ctx, view.WatchOptions{})
	unread := v.Watch(ctx, view.WatchOptions{})
	commit(t, s, v, put("/a", "1"))
	<-idle.Changes()
	cancel()
	ended(t, idle, context.Canceled)
	ended(t, unread, context.Canceled)
}

func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		v := start(t, s, view.Options{Decode: decode})
		reached := make(chan int64, 3)
		for i := range int64(3) {
			go func() {
				if err := v.WaitFor(t.Context(), 2+i); err != nil {
					t.Errorf("wait: %v", err)
				}
				reached <- 2 + i
			}()
		}
		synctest.Wait()
		for want := range int64(3) {
			if len(reached) > 0 {
				t.Errorf("%d was reached before it was written", <-reached)
			}
			write(t, s, put("/a", "1"))
			if got := <-reached; got != 2+want {
				t.Errorf("reached %d; want %d", got, 2+want)
			}
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := v.WaitFor(ctx, 100); !errors.Is(err, context.Canceled) {
			t.Errorf("wait for what never comes: %v", err)
		}
		if err := v.WaitFor(ctx, 1); err != nil {
			t.Errorf("wait for the past: %v", err)
		}
	})
}
