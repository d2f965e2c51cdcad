package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
)

var commitChecks = map[string]check{
	"revisions grow by one a commit":          revisionsGrow,
	"operations of a commit share a revision": operationsShareRevision,
	"an update keeps the creation revision":   updateKeepsCreated,
	"a failed precondition writes nothing":    failedPreconditionWritesNothing,
	"preconditions that hold let it pass":     heldPreconditionPasses,
	"changing nothing makes no revision":      nothingMakesNoRevision,
	"a key written twice is refused":          keyTwiceRefused,
	"the caller may reuse its bytes":          callerMayReuseBytes,
}

func revisionsGrow(t *testing.T, s store.Store) {
	first := mustCommit(t, s, put("/a", "1"))
	if first < 1 {
		t.Fatalf("first revision is %d", first)
	}
	for i := int64(1); i <= 5; i++ {
		if got := mustCommit(t, s, put("/a", "again")); got != first+i {
			t.Fatalf("revision %d after %d; want %d", got, first+i-1, first+i)
		}
	}
}

func operationsShareRevision(t *testing.T, s store.Store) {
	mustCommit(t, s, put("/old", "x"))
	revision := mustCommit(t, s, put("/a", "1"), put("/b", "2"), del("/old"))
	for key, value := range map[string]string{"/a": "1", "/b": "2"} {
		want := store.Entry{Key: key, Value: []byte(value), Created: revision, Modified: revision}
		if diff := cmp.Diff(want, mustGet(t, s, key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	mustBeAbsent(t, s, "/old")
}

func updateKeepsCreated(t *testing.T, s store.Store) {
	created := mustCommit(t, s, put("/a", "1"))
	modified := mustCommit(t, s, put("/a", "2"))
	want := store.Entry{Key: "/a", Value: []byte("2"), Created: created, Modified: modified}
	if diff := cmp.Diff(want, mustGet(t, s, "/a")); diff != "" {
		t.Errorf("after an update (-want +got):\n%s", diff)
	}
	mustCommit(t, s, del("/a"))
	again := mustCommit(t, s, put("/a", "3"))
	if got := mustGet(t, s, "/a").Created; got != again {
		t.Errorf("created again at %d, reads %d", again, got)
	}
}

func failedPreconditionWritesNothing(t *testing.T, s store.Store) {
	held := mustCommit(t, s, put("/held", "1"))
	cases := map[string]struct {
		reason string
		fails  store.Condition
		have   int64
	}{
		"must be absent": {"a key that exists isn't absent", store.Condition{Key: "/held"}, held},
		"must exist":     {"a key that is gone has no revision", store.Condition{Key: "/gone", Modified: held}, 0},
		"must be at": {"another revision means another writer",
			store.Condition{Key: "/held", Modified: held - 1}, held},
		"at the newest up": {"a revision to come isn't the key's", store.Condition{Key: "/held", Modified: held + 1}, held},
	}
	for name, c := range cases {
		_, err := s.Commit(t.Context(), store.Txn{
			If: []store.Condition{{Key: "/held", Modified: held}, c.fails, {Key: "/new"}},
			Do: []store.Op{put("/new", "1"), put("/held", "2"), del("/held2")},
		})
		want := &store.ConflictError{Key: c.fails.Key, Want: c.fails.Modified, Have: c.have}
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) || !errors.Is(err, store.ErrConflict) {
			t.Fatalf("%s: %v (%s)", name, err, c.reason)
		}
		if diff := cmp.Diff(want, conflict); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
	mustBeAbsent(t, s, "/new")
	if got := mustGet(t, s, "/held").Modified; got != held {
		t.Errorf("/held moved from %d to %d", held, got)
	}
	if next := mustCommit(t, s, put("/next", "1")); next != held+1 {
		t.Errorf("refused commits used up revisions: %d follows %d", next, held)
	}
}

func heldPreconditionPasses(t *testing.T, s store.Store) {
	first := mustCommit(t, s, put("/a", "1"))
	second, err := s.Commit(t.Context(), store.Txn{
		If: []store.Condition{{Key: "/a", Modified: first}, {Key: "/b"}},
		Do: []store.Op{del("/a"), put("/b", "1")},
	})
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	_, err = s.Commit(t.Context(), store.Txn{
		If: []store.Condition{{Key: "/a"}, {Key: "/b", Modified: second}},
		Do: []store.Op{put("/a", "2")},
	})
	if err != nil {
		t.Fatalf("commit on a key that was deleted: %v", err)
	}
}

func nothingMakesNoRevision(t *testing.T, s store.Store) {
	newest := mustCommit(t, s, put("/a", "1"))
	if got := mustCommit(t, s, del("/never")); got != newest {
		t.Errorf("deleting what is not there answers %d; want the newest, %d", got, newest)
	}
	got, err := s.Commit(t.Context(), store.Txn{If: []store.Condition{{Key: "/a", Modified: newest}}})
	if err != nil || got != newest {
		t.Errorf("a check alone answers %d, %v; want %d", got, err, newest)
	}
}

func keyTwiceRefused(t *testing.T, s store.Store) {
	cases := map[string]struct {
		reason string
		ops    []store.Op
	}{
		"put, put":       {"which value would stay?", []store.Op{put("/a", "1"), put("/a", "2")}},
		"put, delete":    {"is it there or not?", []store.Op{put("/a", "1"), del("/a")}},
		"delete, delete": {"the same answer on every backend", []store.Op{del("/a"), del("/a")}},
		"empty key":      {"a key has a name", []store.Op{put("", "1"), put("/a", "1")}},
	}
	for name, c := range cases {
		if _, err := s.Commit(t.Context(), store.Txn{Do: c.ops}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v; want ErrInvalid: %s", name, err, c.reason)
		}
	}
	mustBeAbsent(t, s, "/a")
}

func callerMayReuseBytes(t *testing.T, s store.Store) {
	value := []byte("kept")
	mustCommit(t, s, store.Op{Key: "/a", Value: value})
	copy(value, "lost")
	if got := string(mustGet(t, s, "/a").Value); got != "kept" {
		t.Errorf("value changed to %q with the caller's buffer", got)
	}
}
