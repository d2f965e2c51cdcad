package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/internal/store"
)

// Open opens an empty store. The suite closes it; a backend that needs more clean-up registers it with t.Cleanup.
type Open func(t *testing.T) store.Store

// patience is the time for which the suite waits for an event before it fails.
const patience = time.Minute

// Run checks a backend against the contract, or against the named groups of it.
func Run(t *testing.T, open Open, only ...string) {
	groups := map[string]map[string]check{
		"commit": commitChecks,
		"list":   listChecks,
		"watch":  watchChecks,
		"lease":  leaseChecks,
		"limits": limitChecks,
		"close":  closeChecks,
		"model":  {"behaves as a plain map with a history": behavesAsModel},
	}
	for group, checks := range groups {
		if len(only) > 0 && !slices.Contains(only, group) {
			continue
		}
		for name, check := range checks {
			t.Run(group+"/"+name, func(t *testing.T) {
				s := open(t)
				t.Cleanup(func() { _ = s.Close() })
				check(t, s)
			})
		}
	}
}

// check is one rule of the contract, run against a fresh store.
type check func(t *testing.T, s store.Store)

// within returns a context that ends with the test's deadline. It is derived from the test, so that a failed test stops
// its watches.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func put(key, value string) store.Op { return store.Op{Key: key, Value: []byte(value)} }

func del(key string) store.Op { return store.Op{Key: key, Delete: true} }

func mustCommit(t testing.TB, s store.Store, ops ...store.Op) int64 {
	t.Helper()
	revision, err := s.Commit(t.Context(), store.Txn{Site: "storetest", Do: ops})
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return revision
}

func mustGet(t *testing.T, s store.Store, key string) store.Entry {
	t.Helper()
	entry, err := s.Get(within(t), key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	return entry
}

func mustBeAbsent(t *testing.T, s store.Store, key string) {
	t.Helper()
	if entry, err := s.Get(within(t), key); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get %s = %+v, %v; want ErrNotFound", key, entry, err)
	}
}

func mustBe(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v; want %v", err, want)
	}
}

// keys returns the keys under a prefix now.
func keys(t *testing.T, s store.Store, prefix string) []string {
	t.Helper()
	page, err := s.List(within(t), prefix, store.ListOptions{})
	if err != nil {
		t.Fatalf("list %s: %v", prefix, err)
	}
	return keysOf(page.Entries)
}

func keysOf(entries []store.Entry) []string {
	var found []string
	for _, e := range entries {
		found = append(found, e.Key)
	}
	return found
}
