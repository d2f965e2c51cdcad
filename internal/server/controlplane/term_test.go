package controlplane

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/storefault"
)

func putKey(key string) store.Txn {
	return store.Txn{Site: key, Do: []store.Op{{Key: key, Value: []byte("1")}}}
}

// After Settle, an earlier commit has been applied or never will be, whatever it compares. Settle itself may get no
// answer.
func TestSettleEndsEarlierCommits(t *testing.T) {
	for name, c := range map[string]struct {
		reason       string
		commit       storefault.Fate
		settle       storefault.Fate
		wantRefused  []string
		settleErrors int
	}{
		"queued": {"it compares a revision that is gone", storefault.Late(1000), storefault.Answered,
			[]string{"/a"}, 0},
		"applied": {"it is there", storefault.Unanswered, storefault.Answered, nil, 0},
		"settle unanswered": {"the second try finds the first one applied", storefault.Late(1000),
			storefault.Unanswered, []string{"/a"}, 1},
		"settle lost": {"the second try is the first", storefault.Late(1000), storefault.Lost, []string{"/a"}, 1},
		"settle queued": {"the second try comes before the first", storefault.Late(1000), storefault.Late(1000),
			[]string{"/a", "election.settle"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			settles := 0
			s := storefault.New(memory.New(), func(txn store.Txn) storefault.Fate {
				switch {
				case txn.Site == "/a":
					return c.commit
				case txn.Site == "election.settle":
					if settles++; settles == 1 {
						return c.settle
					}
				}
				return storefault.Answered
			})
			defer s.Close()
			f, err := Begin(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Commit(t.Context(), putKey("/a")); !errors.Is(err, store.ErrUnknownOutcome) {
				t.Fatal(err)
			}
			failed := 0
			revision, err := f.Settle(t.Context())
			for ; err != nil; revision, err = f.Settle(t.Context()) {
				failed++
			}
			if failed != c.settleErrors {
				t.Errorf("settled after %d errors, want %d", failed, c.settleErrors)
			}
			page, err := s.List(t.Context(), "/", store.ListOptions{Limit: 1})
			if err != nil || page.Revision != revision {
				t.Errorf("settled at revision %d, the store is at %d, %v", revision, page.Revision, err)
			}
			if _, err := f.Commit(t.Context(), putKey("/b")); err != nil {
				t.Errorf("the next commit: %v", err)
			}
			s.Flush()
			if diff := cmp.Diff(c.wantRefused, s.Refused()); diff != "" {
				t.Errorf("%s: refused: -want +got:\n%s", c.reason, diff)
			}
			if _, err := f.Commit(t.Context(), putKey("/c")); err != nil {
				t.Errorf("a commit at the end: %v", err)
			}
		})
	}
}

// A commit during a Settle is a lost race, not the end of the server's term.
func TestACommitDuringSettleIsAConflict(t *testing.T) {
	s := storefault.New(memory.New(), func(txn store.Txn) storefault.Fate {
		if txn.Site == "election.settle" {
			return storefault.Unanswered
		}
		return storefault.Answered
	})
	defer s.Close()
	ctx := context.Background()
	f, err := Begin(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Settle(ctx); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	if _, err := f.Commit(ctx, putKey("/a")); !errors.Is(err, store.ErrConflict) || errors.Is(err, ErrDeposed) {
		t.Errorf("%v; want a conflict", err)
	}
	if _, err := f.Commit(ctx, putKey("/a")); err != nil {
		t.Errorf("the next try: %v", err)
	}
}

// A claim whose answer never came isn't applied over the claim of a later process.
func TestALateClaimDeposesNobody(t *testing.T) {
	claims := 0
	s := storefault.New(memory.New(), func(txn store.Txn) storefault.Fate {
		if claims++; claims == 1 {
			return storefault.Late(100)
		}
		return storefault.Answered
	})
	defer s.Close()
	if _, err := Begin(t.Context(), s); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	next, err := Begin(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Flush()
	if _, err := next.Commit(t.Context(), putKey("/a")); err != nil {
		t.Errorf("the one that came after: %v", err)
	}
	if diff := cmp.Diff([]string{"election"}, s.Refused()); diff != "" {
		t.Errorf("refused: -want +got:\n%s", diff)
	}
}

// TestAnInheritedClaimSaysSo: if the disk is too full for a claim of its own, a server holds that of the previous
// process, whose own last claim may still arrive.
func TestAnInheritedClaimSaysSo(t *testing.T) {
	ctx, s := context.Background(), memory.New()
	defer s.Close()
	if _, err := Begin(ctx, s); err != nil {
		t.Fatal(err)
	}
	f, err := inherit(ctx, s, store.ErrNoSpace)
	if err != nil {
		t.Fatal(err)
	}
	put := store.Txn{Site: "test", Do: []store.Op{{Key: "/a", Value: []byte("1")}}}
	if _, err := f.Commit(ctx, put); err != nil {
		t.Fatalf("with the inherited claim: %v", err)
	}
	if _, err := Begin(ctx, s); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(ctx, put); !errors.Is(err, ErrDeposed) {
		t.Errorf("after a claim came: %v", err)
	}
	<-f.Lost()
	if err := f.Err(); !errors.Is(err, ErrDeposed) || !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("%v; want both causes", err)
	}
}

func TestDeposedServerWritesNothing(t *testing.T) {
	ctx, s := context.Background(), memory.New()
	defer s.Close()
	old, err := Begin(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	put := store.Txn{Site: "test", Do: []store.Op{{Key: "/a", Value: []byte("1")}}}
	if _, err := old.Commit(ctx, put); err != nil {
		t.Fatalf("while it holds the controllers: %v", err)
	}
	if _, err := Begin(ctx, s); err != nil {
		t.Fatal(err)
	}
	put.Do[0].Value = []byte("2")
	if _, err := old.Commit(ctx, put); !errors.Is(err, ErrDeposed) {
		t.Errorf("after the take-over: %v", err)
	}
	if got, _ := s.Get(ctx, "/a"); string(got.Value) != "1" {
		t.Errorf("/a = %s", got.Value)
	}
	<-old.Lost()
	if err := old.Err(); !errors.Is(err, ErrDeposed) {
		t.Errorf("the term ends with %v", err)
	}
}
