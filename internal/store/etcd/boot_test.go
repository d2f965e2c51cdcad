package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store/etcd"
)

func TestDamagedDataIsAnErrorOfOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		damage func(t *testing.T, member string)
		want   string
	}{
		"log": {"etcd answers by itself", func(t *testing.T, member string) {
			overwrite(t, filepath.Join(member, "wal", "0000000000000000-0000000000000000.wal"), 4000)
		}, "crc mismatch"},
		"database": {"etcd panics through its log", func(t *testing.T, member string) {
			overwrite(t, filepath.Join(member, "snap", "db"), 0)
		}, "etcd gave up: failed to open database"},
		"folder": {"etcd ends the process through its log", func(t *testing.T, member string) {
			snap := filepath.Join(member, "snap")
			if err := errors.Join(os.RemoveAll(snap), os.WriteFile(snap, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}, "etcd gave up: failed to create snapshot directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			s := open(t, etcd.Options{DataDir: dir})
			for range 50 {
				commit(t, s, put("/a", make([]byte, 1000)))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			c.damage(t, filepath.Join(dir, "member"))
			// In another process: etcd's goroutines block with all they hold.
			said := start(t, "idle", dir).rest()
			if len(said) != 1 || !strings.HasPrefix(said[0], "error: start etcd in "+dir+": ") ||
				!strings.Contains(said[0], c.want) {
				t.Errorf("%s: Open said %q; want %q", c.reason, said, c.want)
			}
		})
	}
}

// A page in the middle of the database is damaged, and the process that had it open did not close it, perhaps because
// of that page. The next start names the file and the way out instead of a stack trace of bbolt.
func TestADamagedPageIsReported(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, etcd.Options{DataDir: dir})
	for i := range 50 {
		commit(t, s, put(fmt.Sprintf("/a/%02d", i), make([]byte, 10_000)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "unclean")
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a clean stop leaves a mark: %v", err)
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "member", "snap", "db")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// All pages except the two of bbolt's own head.
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	page := int64(os.Getpagesize())
	_, err = file.WriteAt(bytes.Repeat([]byte("damage"), int(info.Size()-2*page)/6), 2*page)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		said := start(t, "idle", dir).rest()
		if len(said) < 2 || !strings.Contains(said[0], "the database is damaged: "+path) ||
			!strings.Contains(said[1], "restore "+dir) {
			t.Errorf("Open said %q; want that the database is damaged, and what to restore", said)
		}
	}
}

// A process that was killed leaves an intact database, which the check accepts.
func TestAnUncleanStopIsChecked(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, etcd.Options{DataDir: dir})
	commit(t, s, put("/a", nil))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "unclean"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, etcd.Options{DataDir: dir})
	if _, err := s.Get(context.Background(), "/a"); err != nil {
		t.Error(err)
	}
}

// overwrite writes other bytes into a file.
func overwrite(t *testing.T, path string, at int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(bytes.Repeat([]byte("damage"), 3000), at)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestBootIsBounded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	_, err := etcd.Open(context.Background(), etcd.Options{DataDir: dir, Ballast: -1, ReadyTimeout: time.Nanosecond})
	if err == nil || !strings.Contains(err.Error(), "not ready within 1ns") {
		t.Errorf("%v; want that it was not ready in time", err)
	}
	reopen(t, dir)
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("never mind")
	cancel(reason)
	if _, err := etcd.Open(ctx, etcd.Options{DataDir: dir, Ballast: -1}); !errors.Is(err, reason) {
		t.Errorf("%v; want the context's cause", err)
	}
	reopen(t, dir)
}

// reopen opens and closes a store whose last start was abandoned: that start releases the data dir some time later.
func reopen(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		s, err := etcd.Open(context.Background(), etcd.Options{DataDir: dir, Ballast: -1})
		if errors.Is(err, etcd.ErrInUse) && time.Now().Before(deadline) {
			<-time.After(10 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, put("/a", nil))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
}

func TestGivingUpEndsTheStore(t *testing.T) {
	t.Parallel()
	said := start(t, "surrender", filepath.Join(t.TempDir(), "state")).rest()
	want := []string{
		"fatal: etcd gave up: the disk is gone",
		"watch: store closed: etcd gave up: the disk is gone",
		"commit: store closed: etcd gave up: the disk is gone",
		"close: <nil>",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
