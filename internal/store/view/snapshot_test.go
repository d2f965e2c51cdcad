package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSnapshotReadsRecords(t *testing.T) {
	s := memory.New()
	created := write(t, s, put("/b/1", "one"), put("/b/2", "two"), put("/a", "zero"), put("/c", "three"))
	v := start(t, s, view.Options{Decode: decode, PageSize: 2})
	modified := commit(t, s, v, put("/b/2", "deux"))
	snapshot := v.Snapshot()

	got, ok := snapshot.Get("/b/2")
	want := view.Record{Key: "/b/2", Value: "deux", Created: created, Modified: modified}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("get (-want +got):\n%s", diff)
	}
	if _, ok := snapshot.Get("/b"); ok {
		t.Error("a prefix counted as a record")
	}
	var keys []string
	for r := range snapshot.Prefix("/b/") {
		keys = append(keys, r.Key)
	}
	if diff := cmp.Diff([]string{"/b/1", "/b/2"}, keys); diff != "" {
		t.Errorf("prefix (-want +got):\n%s", diff)
	}
	if snapshot.Len() != 4 || snapshot.Revision() != modified || v.Revision() != modified {
		t.Errorf("%d records at %d; want 4 at %d", snapshot.Len(), snapshot.Revision(), modified)
	}
	for range snapshot.Prefix("/") {
		break // a reader may stop early
	}
}

func TestSnapshotIsEmptyBeforeTheFirstListing(t *testing.T) {
	v := view.New(memory.New(), view.Options{Indexes: []view.Index{words}})
	s := v.Snapshot()
	if s.Len() != 0 || s.Revision() != 0 {
		t.Errorf("%d records at revision %d; want none at 0", s.Len(), s.Revision())
	}
	for r := range s.Index("words", "a") {
		t.Errorf("found %+v", r)
	}
}

func TestUndeclaredIndexPanics(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), `"nowhere"`) {
			t.Errorf("recovered %v; want the index named", p)
		}
	}()
	view.New(memory.New(), view.Options{}).Snapshot().Index("nowhere", "a")
}

// Every snapshot ever taken must stay unchanged, and an index must find the same records as a search through all of
// them.
func TestSnapshotsNeverChangeAndIndexesFindAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := memory.New()
		v := start(rt, s, view.Options{Decode: decode, Indexes: []view.Index{words, last}, PageSize: 2})
		type taken struct {
			snapshot *view.Snapshot
			contents map[string]any
		}
		var all []taken
		now := map[string]any{}
		for range rapid.IntRange(1, 12).Draw(rt, "commits") {
			var ops []store.Op
			for _, key := range rapid.SliceOfNDistinct(rapid.StringMatching(`/[ab]/[xyz]`), 1, 3, rapid.ID).Draw(rt, "keys") {
				value := rapid.StringMatching(`([pq]( [pqr]){0,2})?|bad|hidden`).Draw(rt, "value")
				if ops = append(ops, put(key, value)); value == "" {
					ops[len(ops)-1] = del(key)
				}
				if now[key] = value; value == "" || value == "bad" || value == "hidden" {
					delete(now, key)
				}
			}
			commit(rt, s, v, ops...)
			kept := map[string]any{}
			for key, value := range now {
				kept[key] = value
			}
			all = append(all, taken{v.Snapshot(), kept})
		}
		for _, x := range all {
			if diff := cmp.Diff(x.contents, contents(x.snapshot)); diff != "" {
				rt.Fatalf("snapshot of revision %d (-want +got):\n%s", x.snapshot.Revision(), diff)
			}
			compareIndexes(rt, x.snapshot)
		}
	})
}

func compareIndexes(t *rapid.T, s *view.Snapshot) {
	for _, index := range []view.Index{words, last} {
		for _, value := range []string{"p", "q", "r", "x", "y", "z", "none"} {
			var want, got []view.Record
			for r := range s.Prefix("") {
				if slices.Contains(index.Keys(r.Key, r.Value), value) {
					want = append(want, r)
				}
			}
			for r := range s.Index(index.Name, value) {
				got = append(got, r)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("index %s=%s at %d (-want +got):\n%s", index.Name, value, s.Revision(), diff)
			}
		}
	}
}

// TestSnapshotKnowsWhatChangedSince: applied to an older state, the changes give the newer one, as long as they are
// kept.
func TestSnapshotKnowsWhatChangedSince(t *testing.T) {
	s := memory.New()
	write(t, s, put("/a", "0"), put("/b", "0"))
	v := start(t, s, view.Options{Decode: decode, History: 3})
	first := v.Snapshot()
	commit(t, s, v, put("/a", "1"))
	second := v.Snapshot()
	commit(t, s, v, put("/c", "2"))
	third := v.Snapshot()
	for name, test := range map[string]struct {
		of    *view.Snapshot
		since int64
		want  []string
		known bool
	}{
		"one commit":      {second, first.Revision(), []string{"/a"}, true},
		"two commits":     {third, first.Revision(), []string{"/a", "/c"}, true},
		"nothing":         {third, third.Revision(), nil, true},
		"a newer one":     {second, third.Revision(), nil, false},
		"before the list": {third, first.Revision() - 1, nil, false},
	} {
		changes, known := test.of.Since(test.since)
		var keys []string
		if known {
			for change := range changes {
				keys = append(keys, change.Key)
			}
		}
		if known != test.known || !slices.Equal(keys, test.want) {
			t.Errorf("%s: %v, %v; want %v, %v", name, keys, known, test.want, test.known)
		}
	}
	for i := range 4 {
		commit(t, s, v, put("/d", fmt.Sprint(i)))
	}
	if _, known := v.Snapshot().Since(first.Revision()); known {
		t.Error("changes that are no longer kept are known")
	}
	if changes, known := third.Since(second.Revision()); !known || len(slices.Collect(changes)) != 1 {
		t.Error("an older snapshot no longer knows its own past")
	}
}
