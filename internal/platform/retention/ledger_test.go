package retention

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDue(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	type step struct {
		reason  string
		cluster string
		claim   bool
		used    bool
		at      time.Duration
		want    bool
	}
	for name, steps := range map[string][]step{
		"unknown": {
			{"the store never knew the file: its disk may not be mounted", "a", false, false, 0, false},
			{"however long that lasts", "a", false, false, 30 * 24 * time.Hour, false},
		},
		"known": {
			{"put here", "a", true, false, 0, false},
			{"waits", "a", false, false, Wait - time.Second, false},
			{"waited a day", "a", false, false, Wait, true},
		},
		"referred to": {
			{"a reference makes it the cluster's", "a", false, true, 0, false},
			{"no reference any more: begins to wait", "a", false, false, Wait, false},
			{"waited", "a", false, false, 2 * Wait, true},
		},
		"referred to again": {
			{"put here", "a", true, false, 0, false},
			{"the wait ends", "a", false, true, time.Hour, false},
			{"and begins again", "a", false, false, Wait, false},
			{"a day after that", "a", false, false, 2 * Wait, true},
		},
		"shared": {
			{"one cluster put it", "a", true, false, 0, false},
			{"so did another", "b", true, false, 0, false},
			{"neither may delete it", "a", false, false, 3 * Wait, false},
			{"nor the other", "b", false, false, 4 * Wait, false},
		},
		"another's": {
			{"one cluster put it", "a", true, false, 0, false},
			{"an empty store in its root", "b", false, false, 3 * Wait, false},
		},
		"clock set back": {
			{"put here", "a", true, false, 0, false},
			{"the clock is behind the mark", "a", false, false, -2 * Wait, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, s := range steps {
				ledger := Open(root, "blobs", s.cluster)
				if s.claim {
					if err := ledger.Claim("sha256:1"); err != nil {
						t.Fatal(err)
					}
				}
				got, err := ledger.Due("sha256:1", s.used, start.Add(s.at))
				if err != nil || got != s.want {
					t.Errorf("%s: due %v, %v; want %v", s.reason, got, err, s.want)
				}
			}
		})
	}
}

func TestForgetLeavesNothing(t *testing.T) {
	root := t.TempDir()
	ledger := Open(root, "blobs", "a")
	if err := ledger.Claim("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Due("x", false, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Forget("x"); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*/*/*/x", "*/*/x"} {
		if left, _ := filepath.Glob(filepath.Join(root, pattern)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

func TestNamesThatAreNoFiles(t *testing.T) {
	root := t.TempDir()
	ledger := Open(root, "blobs", "a")
	for _, name := range []string{"", ".", "../x", "a/b", "*", "[a]"} {
		if ledger.Claim(name) == nil {
			t.Errorf("%q was claimed", name)
		}
		if due, err := ledger.Due(name, false, time.Now()); due || err == nil {
			t.Errorf("%q: due %v, %v", name, due, err)
		}
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("made %v, %v", entries, err)
	}
}
