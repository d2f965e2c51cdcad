package storetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
)

var listChecks = map[string]check{
	"keys come in order, of the prefix alone":     listInOrder,
	"pages of one revision ignore later writes":   pagesIgnoreWrites,
	"an old revision reads as it was":             listOldRevision,
	"a compacted revision is refused":             listCompacted,
	"a revision to come is refused":               listFuture,
	"an empty prefix reads everything":            listEverything,
	"compacting twice is allowed, ahead is not":   compactBounds,
	"a page that ends with the last key is whole": lastPage,
}

func listInOrder(t *testing.T, s store.Store) {
	mustCommit(t, s, put("/b/2", ""), put("/b/10", ""), put("/a", ""), put("/c", ""), put("/b", ""),
		put("/b/1/x", ""), put("/b0", ""))
	if diff := cmp.Diff([]string{"/b/1/x", "/b/10", "/b/2"}, keys(t, s, "/b/")); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func listEverything(t *testing.T, s store.Store) {
	mustCommit(t, s, put("a", ""), put("/a", ""), put("\xff\xff", ""))
	if diff := cmp.Diff([]string{"/a", "a", "\xff\xff"}, keys(t, s, "")); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"\xff\xff"}, keys(t, s, "\xff")); diff != "" {
		t.Errorf("keys under the last prefix (-want +got):\n%s", diff)
	}
}

func pagesIgnoreWrites(t *testing.T, s store.Store) {
	var ops []store.Op
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("/k/%02d", i)
		ops, want = append(ops, put(key, "old")), append(want, key)
	}
	revision := mustCommit(t, s, ops...)
	var got []string
	opts := store.ListOptions{Limit: 10}
	for page := 0; ; page++ {
		p, err := s.List(within(t), "/k/", opts)
		if err != nil {
			t.Fatalf("page %d: %v", page, err)
		}
		if p.Revision != revision {
			t.Fatalf("page %d is of revision %d; want %d", page, p.Revision, revision)
		}
		got = append(got, keysOf(p.Entries)...)
		// A writer works while the pages are read: behind, at and ahead of them.
		mustCommit(t, s, del("/k/00"), del("/k/24"), put("/k/12", "new"), put("/k/12x", "new"))
		if !p.More {
			break
		}
		opts.After, opts.Revision = got[len(got)-1], p.Revision
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func lastPage(t *testing.T, s store.Store) {
	mustCommit(t, s, put("/k/1", ""), put("/k/2", ""), put("/l", ""))
	p, err := s.List(within(t), "/k/", store.ListOptions{Limit: 2})
	if err != nil || p.More || len(p.Entries) != 2 {
		t.Errorf("page %+v, %v; want both keys and nothing more", p, err)
	}
	p, err = s.List(within(t), "/k/", store.ListOptions{Limit: 2, After: "/k/2"})
	if err != nil || p.More || len(p.Entries) != 0 {
		t.Errorf("page after the last key %+v, %v; want none", p, err)
	}
}

func listOldRevision(t *testing.T, s store.Store) {
	first := mustCommit(t, s, put("/a", "1"), put("/b", "1"))
	mustCommit(t, s, put("/a", "2"))
	mustCommit(t, s, del("/b"), put("/c", "3"))
	p, err := s.List(within(t), "/", store.ListOptions{Revision: first})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	want := store.Page{Revision: first, Entries: []store.Entry{
		{Key: "/a", Value: []byte("1"), Created: first, Modified: first},
		{Key: "/b", Value: []byte("1"), Created: first, Modified: first},
	}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("old revision (-want +got):\n%s", diff)
	}
}

func listCompacted(t *testing.T, s store.Store) {
	first := mustCommit(t, s, put("/a", "1"))
	second := mustCommit(t, s, put("/a", "2"))
	mustCommit(t, s, put("/a", "3"))
	if err := s.Compact(within(t), second); err != nil {
		t.Fatalf("compact: %v", err)
	}
	_, err := s.List(within(t), "/", store.ListOptions{Revision: first})
	mustBe(t, err, store.ErrCompacted)
	p, err := s.List(within(t), "/", store.ListOptions{Revision: second})
	if err != nil || len(p.Entries) != 1 || string(p.Entries[0].Value) != "2" {
		t.Errorf("the compacted revision itself reads %+v, %v; want /a = 2", p, err)
	}
}

func listFuture(t *testing.T, s store.Store) {
	newest := mustCommit(t, s, put("/a", "1"))
	_, err := s.List(within(t), "/", store.ListOptions{Revision: newest + 5})
	mustBe(t, err, store.ErrFutureRevision)
}

func compactBounds(t *testing.T, s store.Store) {
	mustCommit(t, s, put("/a", "1"))
	newest := mustCommit(t, s, put("/a", "2"))
	for range 2 {
		if err := s.Compact(within(t), newest); err != nil {
			t.Fatalf("compact: %v", err)
		}
	}
	if err := s.Compact(within(t), newest-1); err != nil {
		t.Errorf("compact of what is forgotten already: %v", err)
	}
	mustBe(t, s.Compact(within(t), newest+5), store.ErrFutureRevision)
	if got := string(mustGet(t, s, "/a").Value); got != "2" {
		t.Errorf("/a = %q after compaction", got)
	}
}
