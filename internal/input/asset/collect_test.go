package asset

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/platform/retention"
	"tend.dev/tend/internal/store/blob"
)

// referring returns a lookup that finds these names referred to.
func referring(names ...string) Referred {
	return func(context.Context, []string) (map[string]bool, error) {
		used := map[string]bool{}
		for _, name := range names {
			used[name] = true
		}
		return used, nil
	}
}

func TestDue(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	old, young := now.Add(-61*time.Minute), now.Add(-time.Hour)
	ledger := retention.Open(t.TempDir(), "blobs", "a")
	for _, owned := range []string{"used and old", "old", "an upload whose apply is to come"} {
		if err := ledger.Claim(owned); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Due(owned, false, now.Add(-retention.Wait)); err != nil {
			t.Fatal(err)
		}
	}
	var faults []error
	got := NewLibrary(Options{Ledger: ledger}).due([]blob.Blob{
		{Digest: "used and old", At: old}, {Digest: "old", At: old}, {Digest: "an upload whose apply is to come", At: young},
		{Digest: "of another store", At: old},
	}, map[string]bool{"used and old": true}, now, &faults)
	if diff := cmp.Diff([]blob.Blob{{Digest: "old", At: old}}, got); diff != "" || len(faults) > 0 {
		t.Error(diff, faults)
	}
}

func TestCollect(t *testing.T) {
	s := newSite(t)
	s.want("one")
	inUse, unused := referring(sha256Of([]byte("one"))), referring()
	later := time.Now().Add(2 * time.Hour)
	if err := os.WriteFile(filepath.Join(s.root, "blobs", "sha256", ".half-1"),
		[]byte("of a server that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		reason   string
		at       time.Time
		referred Referred
		left     int
	}{
		{"referred to; what is half written goes", later, inUse, 2},
		{"young", time.Now(), unused, 2},
		{"old, and nothing refers to it: it waits in quarantine", later, unused, 2},
		{"still waiting", later.Add(retention.Wait - time.Minute), unused, 2},
		{"referred to again", later.Add(retention.Wait), inUse, 2},
		{"waits again", later.Add(retention.Wait + time.Minute), unused, 2},
		{"a day later", later.Add(2*retention.Wait + time.Minute), unused, 0},
	} {
		s.library.opts.Now = func() time.Time { return step.at }
		if err := s.library.Collect(t.Context(), step.referred); err != nil {
			t.Fatal(err)
		}
		if left := tree(t, s.root); len(left) != step.left {
			t.Errorf("%s: left are %v, want the blob and what is remembered of its URL: %d", step.reason, left, step.left)
		}
	}
	s.want("one") // without its record in the cache, a URL is downloaded in full
}

func TestRunCollectsAtBootAndEveryHour(t *testing.T) {
	s := newSite(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		synced, passes := make(chan struct{}), 0
		done := make(chan error, 1)
		go func() {
			done <- s.library.Run(ctx, synced,
				func(context.Context, []string) (map[string]bool, error) { passes++; return nil, nil })
		}()
		synctest.Wait()
		if passes != 0 {
			t.Error("it collected before the state was complete")
		}
		close(synced)
		synctest.Wait()
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		if passes != 3 {
			t.Errorf("%d passes in two hours", passes)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
