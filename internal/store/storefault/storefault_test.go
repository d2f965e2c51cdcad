package storefault_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/storefault"
	"tend.dev/tend/internal/store/storetest"
)

// Without faults it behaves as the store it wraps.
func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return storefault.New(memory.New(), nil) })
}

func txn(site string) store.Txn {
	return store.Txn{Site: site, Do: []store.Op{{Key: "/" + site, Value: []byte(site)}}}
}

func there(t *testing.T, s store.Store, site string) bool {
	t.Helper()
	_, err := s.Get(context.Background(), "/"+site)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

func TestFates(t *testing.T) {
	cases := map[string]struct {
		reason string
		fate   storefault.Fate
		// at reports, after each of three later commits and after Flush, whether the commit is applied.
		at [5]bool
	}{
		"lost":       {"it never applies", storefault.Lost, [5]bool{}},
		"unanswered": {"it applies at once", storefault.Unanswered, [5]bool{true, true, true, true, true}},
		"late":       {"it applies after two more commits", storefault.Late(2), [5]bool{false, false, true, true, true}},
		"later":      {"Flush is the latest", storefault.Late(9), [5]bool{false, false, false, false, true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := storefault.New(memory.New(), func(txn store.Txn) storefault.Fate {
				if txn.Site == "x" {
					return c.fate
				}
				return storefault.Answered
			})
			defer s.Close()
			if _, err := s.Commit(t.Context(), txn("x")); !errors.Is(err, store.ErrUnknownOutcome) {
				t.Errorf("%v; want ErrUnknownOutcome", err)
			}
			got := [5]bool{there(t, s, "x")}
			for i, site := range []string{"a", "b", "c"} {
				if _, err := s.Commit(t.Context(), txn(site)); err != nil {
					t.Fatal(err)
				}
				got[i+1] = there(t, s, "x")
			}
			s.Flush()
			got[4] = there(t, s, "x")
			if diff := cmp.Diff(c.at, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// The preconditions of a late commit are checked when it is applied.
func TestLateCommitConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storefault.New(memory.New(), func(txn store.Txn) storefault.Fate {
			if txn.Site == "x" {
				return storefault.LateBy(time.Second)
			}
			return storefault.Answered
		})
		defer s.Close()
		first := store.Txn{Site: "x", If: []store.Condition{{Key: "/k"}}, Do: []store.Op{{Key: "/k", Value: []byte("late")}}}
		if _, err := s.Commit(t.Context(), first); !errors.Is(err, store.ErrUnknownOutcome) {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), store.Txn{Do: []store.Op{{Key: "/k", Value: []byte("second")}}}); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"x"}, s.Refused()); diff != "" || len(s.Applied()) > 0 {
			t.Errorf("refused %v, applied %v; want the late one refused", s.Refused(), s.Applied())
		}
	})
}
