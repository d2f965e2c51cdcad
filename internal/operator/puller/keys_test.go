package puller

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// isDone reports whether keys, read from their store now, contain a key.
func isDone(t *testing.T, store *texts, key string) bool {
	t.Helper()
	is, err := NewKeys(store, time.Now).Done(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// TestKeys: keys outlive the process. A damaged store is started over.
func TestKeys(t *testing.T) {
	store := &texts{}
	long := strings.Repeat("x", 500) + "@u.1"
	if err := NewKeys(store, time.Now).Remember(t.Context(), "old", long); err != nil {
		t.Fatal(err)
	}
	if !isDone(t, store, long) || !isDone(t, store, "old") || isDone(t, store, strings.Repeat("x", 500)+"@u.2") {
		t.Error("after a restart other keys are known")
	}
	store.pages[0] = []byte("{")
	if isDone(t, store, "old") {
		t.Error("a damaged text has keys")
	}
}

// TestAJobCostsOneSmallWrite: a key is written with few others, wherever the operator was restarted, and the oldest
// keys go when there are too many.
func TestAJobCostsOneSmallWrite(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	store := &texts{}
	key := func(i int) string { return strings.Repeat("k", maxKey-8) + fmt.Sprintf("%08d", i) }
	const most = KeyPages * pageKeys
	keys := NewKeys(store, func() time.Time { return now })
	for i := range most + 1 {
		now = now.Add(time.Second)
		if i%97 == 0 {
			keys = NewKeys(store, func() time.Time { return now })
		}
		if err := keys.Remember(t.Context(), key(i)); err != nil {
			t.Fatal(err)
		}
		if store.saves != i+1 {
			t.Fatalf("%d writes for %d jobs", store.saves, i+1)
		}
	}
	for page, text := range store.pages {
		if len(text) == 0 || len(text) > 1<<16 {
			t.Errorf("page %d has %d bytes", page, len(text))
		}
	}
	for i, want := range map[int]bool{0: false, pageKeys - 1: false, pageKeys: true, most - 1: true, most: true} {
		if got := isDone(t, store, key(i)); got != want {
			t.Errorf("key %d is known: %v, want %v", i, got, want)
		}
	}
}

// TestManyKeysAtOnce: more keys than a page holds take several.
func TestManyKeysAtOnce(t *testing.T) {
	store := &texts{}
	var all []string
	for i := range pageKeys + 1 {
		all = append(all, fmt.Sprint("key-", i))
	}
	if err := NewKeys(store, time.Now).Remember(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	lost := slices.IndexFunc(all, func(key string) bool { return !isDone(t, store, key) })
	if lost >= 0 || store.saves != 2 {
		t.Errorf("%d writes; lost: %d", store.saves, lost)
	}
}

// TestKeysOfAnEarlierRelease: it kept up to 4,000 keys in what is page 0. They stay known, and are not written again.
func TestKeysOfAnEarlierRelease(t *testing.T) {
	store := &texts{}
	var old []doneKey
	for i := range 4000 {
		old = append(old, doneKey{fmt.Sprint("old-", i), time.Now().Add(-time.Hour)})
	}
	text, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	store.pages[0] = text
	if err := NewKeys(store, time.Now).Remember(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	if !isDone(t, store, "old-0") || !isDone(t, store, "old-3999") || !isDone(t, store, "new") {
		t.Error("a key is lost")
	}
	if len(store.pages[1]) == 0 || len(store.pages[1]) > 200 || len(store.pages[0]) != len(text) {
		t.Errorf("page 0 has %d bytes, page 1 %d", len(store.pages[0]), len(store.pages[1]))
	}
}
