package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestKeys: keys outlive the process and are bounded by age and number. A damaged store is started over.
func TestKeys(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	store := &texts{}
	keys := NewKeys(store, func() time.Time { return now })
	done := func(of *Keys, key string) bool {
		t.Helper()
		is, err := of.Done(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	remember := func(key string) {
		t.Helper()
		if err := keys.Remember(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("x", 500) + "@u.1"
	remember("old")
	now = now.Add(keyAge)
	remember(long)
	if again := NewKeys(store, func() time.Time { return now }); !done(again, long) || !done(again, "old") ||
		done(again, strings.Repeat("x", 500)+"@u.2") {
		t.Error("what was done is not known after a restart")
	}
	now = now.Add(time.Second)
	remember("new")
	if done(keys, "old") || !done(keys, "new") {
		t.Error("an old key is kept")
	}
	for i := range maxKeys {
		keys.keys = append(keys.keys, doneKey{strings.Repeat("k", maxKey-8) + fmt.Sprintf("%08d", i), now})
	}
	remember("last")
	if len(keys.keys) != maxKeys || len(store.text) > 1<<20 || !done(keys, "last") {
		t.Errorf("%d keys, %d bytes", len(keys.keys), len(store.text))
	}
	store.text = []byte("{")
	if again := NewKeys(store, func() time.Time { return now }); done(again, "last") {
		t.Error("a damaged text has keys")
	}
}
