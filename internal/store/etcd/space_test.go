package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
)

const mib = 1 << 20

// packings counts how often a database was packed, from the log.
type packings struct {
	slog.Handler
	n atomic.Int32
}

func (p *packings) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "its file packed") {
		p.n.Add(1)
	}
	return nil
}

func (p *packings) Enabled(context.Context, slog.Level) bool { return true }

// fill commits records of a MiB until there is no room, and returns their number.
func fill(t *testing.T, s *etcd.Store) (int, error) {
	t.Helper()
	for i := range 100 {
		_, err := s.Commit(context.Background(),
			store.Txn{Site: "fill", Do: []store.Op{put(fmt.Sprint("/", i), make([]byte, mib))}})
		if err != nil {
			return i, err
		}
	}
	t.Fatal("100 MiB went in")
	return 0, nil
}

func TestRecordsBeyondTheQuotaAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := &packings{Handler: slog.DiscardHandler}
	s := open(t, etcd.Options{Quota: 8 * mib, Logger: slog.New(p)})
	n, err := fill(t, s)
	if !errors.Is(err, store.ErrNoSpace) || !errors.Is(err, store.ErrFull) || n < 5 ||
		!strings.Contains(err.Error(), "of its quota of 8 MiB") {
		t.Fatalf("after %d records: %v; want ErrFull and the quota", n, err)
	}
	before := p.n.Load()
	for i := range 50 {
		if _, err := s.Commit(ctx, store.Txn{Do: []store.Op{put("/b", make([]byte, mib))}}); !errors.Is(err,
			store.ErrNoSpace) {
			t.Fatalf("commit %d: %v; want ErrNoSpace", i, err)
		}
	}
	if after := p.n.Load(); before == 0 || after != before {
		t.Errorf("packed %d times, and %d times after 50 more refusals; want no more", before, after)
	}
	if _, err := s.Get(ctx, "/b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused record: %v; want that it was not written", err)
	}
	for i := range n {
		commit(t, s, store.Op{Key: fmt.Sprint("/", i), Delete: true})
	}
	s.ForgetLastPacking()
	commit(t, s, put("/b", make([]byte, mib)))
}

func TestAlarmIsTakenBack(t *testing.T) {
	t.Parallel()
	s := open(t, etcd.Options{})
	if err := s.RaiseAlarm(t.Context()); err != nil {
		t.Fatal(err)
	}
	commit(t, s, put("/a", nil))
	// Right after the alarm is raised again: too soon to pack again.
	if err := s.RaiseAlarm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), store.Txn{Do: []store.Op{put("/a", nil)}}); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("%v; want ErrNoSpace", err)
	}
	s.ForgetLastPacking()
	commit(t, s, put("/a", nil))
}

func mustPass(t *testing.T, what string, want bool, err error) {
	t.Helper()
	if (err == nil) != want || (err != nil && !errors.Is(err, store.ErrNoSpace)) {
		t.Errorf("%s: %v; passes should be %v", what, err, want)
	}
}

func TestBallastIsMadeAndNamed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "state")
	free, err := etcd.FreeDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ballast")
	s := open(t, etcd.Options{DataDir: dir, Ballast: free, MinFree: -1})
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ballast as large as all that is free: %v; want none", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, etcd.Options{DataDir: dir, Ballast: mib, MinFree: -1}).Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != mib {
		t.Errorf("ballast: %v; want 1 MiB", err)
	}
	s = open(t, etcd.Options{DataDir: dir, Ballast: mib, MinFree: free * 2})
	_, err = s.Commit(ctx, store.Txn{Do: []store.Op{put("/a", nil)}})
	if err == nil || !strings.Contains(err.Error(), "rm "+path+" gives 1 MiB back") {
		t.Errorf("%v; want the ballast as first aid", err)
	}
}
