package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
)

// TestSnapshotUnderWrites: a writer counts up over several keys in one commit, while snapshots are taken. Each snapshot
// is of one moment: no number is missing, and no commit is torn.
func TestSnapshotUnderWrites(t *testing.T) {
	t.Parallel()
	s := open(t, etcd.Options{MinFree: -1})
	if _, err := s.Commit(t.Context(),
		store.Txn{Site: "test", Do: []store.Op{{Key: "/first", Value: []byte("1")}}}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	writers.Go(func() {
		for i := 1; ctx.Err() == nil; i++ {
			n := []byte(strconv.Itoa(i))
			_, err := s.Commit(context.Background(), store.Txn{Site: "test", Do: []store.Op{
				{Key: fmt.Sprintf("/sequence/%06d", i), Value: n}, {Key: "/left", Value: n}, {Key: "/right", Value: n},
				{Key: fmt.Sprintf("/gone/%d", i-1), Delete: true}, {Key: fmt.Sprintf("/gone/%d", i), Value: n},
			}})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer writers.Wait()
	defer stop()
	seen := 0
	for range 10 {
		entries, revision := snapshotOf(t, s)
		left, right := string(entries["/left"].Value), string(entries["/right"].Value)
		count, _ := strconv.Atoi(left)
		if left != right || count < seen {
			t.Fatalf("one commit in two halves, or an older state: %s and %s after %d", left, right, seen)
		}
		seen = count
		gone := 0
		for i := 1; i <= count; i++ {
			if _, ok := entries[fmt.Sprintf("/sequence/%06d", i)]; !ok {
				t.Fatalf("%d of %d is missing", i, count)
			}
			if _, ok := entries[fmt.Sprintf("/gone/%d", i)]; ok {
				gone++
			}
		}
		if _, ok := entries[fmt.Sprintf("/sequence/%06d", count+1)]; ok || count > 0 && gone != 1 {
			t.Errorf("more than there was at %d: %d", count, gone)
		}
		page, err := s.List(t.Context(), "/", store.ListOptions{Revision: revision})
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]store.Entry{}
		for _, entry := range page.Entries {
			at[entry.Key] = entry
		}
		if diff := cmp.Diff(at, entries); diff != "" {
			t.Fatalf("revision %d (-listed +snapshot):\n%s", revision, diff)
		}
	}
	if seen == 0 {
		t.Error("nothing was written meanwhile")
	}
}

func snapshotOf(t *testing.T, s *etcd.Store) (map[string]store.Entry, int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	var out bytes.Buffer
	if err := errors.Join(s.Snapshot(t.Context(), &out), os.WriteFile(path, out.Bytes(), 0o600),
		etcd.CheckSnapshot(t.Context(), path)); err != nil {
		t.Fatal(err)
	}
	entries, revision, err := etcd.ReadSnapshot(path)
	if err != nil {
		t.Fatal(err)
	}
	return entries, revision
}

// TestSnapshotOfADeletion: the newest revision counts although compaction removed its only change.
func TestSnapshotOfADeletion(t *testing.T) {
	t.Parallel()
	s := open(t, etcd.Options{MinFree: -1})
	for _, op := range []store.Op{{Key: "/a", Value: []byte("1")}, {Key: "/b", Value: []byte("1")},
		{Key: "/b", Delete: true}} {
		if _, err := s.Commit(t.Context(), store.Txn{Site: "test", Do: []store.Op{op}}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := s.List(t.Context(), "/", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), page.Revision); err != nil {
		t.Fatal(err)
	}
	if entries, revision := snapshotOf(t, s); revision != page.Revision || len(entries) != 1 {
		t.Errorf("revision %d, the store has %d: %v", revision, page.Revision, entries)
	}
}

// TestADamagedSnapshotIsNamed: a page that was damaged before the snapshot was taken has the right sum.
func TestADamagedSnapshotIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, make([]byte, 512), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := etcd.CheckSnapshot(t.Context(), path); !errors.Is(err, etcd.ErrSnapshot) {
		t.Errorf("a file without a sum: %v", err)
	}
	if err := etcd.Restore(path, filepath.Join(t.TempDir(), "state"), "tend-0",
		slog.New(slog.DiscardHandler)); err == nil {
		t.Error("it was restored")
	}
}
