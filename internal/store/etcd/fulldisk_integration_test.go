//go:build integration

package etcd_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
)

// smallDisk returns a data dir on its own disk.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a tmpfs of %s (this test needs root): %v", size, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mount, 0); err != nil {
			t.Errorf("unmount %s: %v", mount, err)
		}
	})
	return filepath.Join(mount, "state")
}

// occupy fills the disk of a data dir except for some bytes, until the returned function is called.
func occupy(t *testing.T, dir string, leave int64) (release func()) {
	t.Helper()
	path := filepath.Join(filepath.Dir(dir), "others")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for tries := 0; ; tries++ {
		free, err := etcd.FreeDisk(dir)
		if err == nil {
			err = unix.Fallocate(int(file.Fd()), 0, 0, free-leave)
		}
		if err == nil {
			break
		}
		// etcd may take a page between the check and the write: then there is less to take.
		if !errors.Is(err, unix.ENOSPC) || tries == 100 {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// Other programs fill the disk: writes stop with a reason, deletions follow, reads never do; the ballast gives room to
// delete with, and everything resumes by itself once there is room.
func TestDiskFilledByOthers(t *testing.T) {
	ctx := context.Background()
	dir := smallDisk(t, "256m")
	s := open(t, etcd.Options{DataDir: dir, MinFree: 32 * mib, Ballast: 8 * mib})
	commit(t, s, put("/a", nil), put("/b", nil), put("/c", nil))

	release := occupy(t, dir, 16*mib)
	_, err := s.Commit(ctx, store.Txn{Do: []store.Op{put("/d", nil)}})
	if !errors.Is(err, store.ErrNoSpace) || !strings.Contains(err.Error(), "rm "+filepath.Join(dir, "ballast")) {
		t.Errorf("a write: %v; want ErrNoSpace that names the ballast", err)
	}
	commit(t, s, store.Op{Key: "/a", Delete: true})
	release()

	release = occupy(t, dir, 0)
	if _, err := s.Commit(ctx, store.Txn{Do: []store.Op{{Key: "/b", Delete: true}}}); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("a deletion on a disk without a byte: %v; want ErrNoSpace", err)
	}
	if _, err := s.Get(ctx, "/b"); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	commit(t, s, store.Op{Key: "/b", Delete: true})
	release()
	commit(t, s, put("/d", nil))
}

// The guard comes too late: etcd gives up, and everything it acknowledged is there when there is room again.
func TestDiskFilledToTheLastByte(t *testing.T) {
	dir := smallDisk(t, "128m")
	p := start(t, "fill", dir)
	said := p.rest()
	var acknowledged []string
	for _, line := range said {
		if strings.HasPrefix(line, "/fill/") {
			acknowledged = append(acknowledged, line)
		}
	}
	last := said[len(said)-1]
	if len(acknowledged) == 0 || !strings.HasPrefix(last, "fatal: etcd gave up: ") {
		t.Fatalf("%d acknowledged, then %q; want that etcd gave up", len(acknowledged), last)
	}
	if err := p.Wait(); err != nil {
		t.Fatalf("the process ended with %v, not by itself", err)
	}
	t.Log(last)
	if err := unix.Mount("", filepath.Dir(dir), "", unix.MS_REMOUNT, "size=512m"); err != nil {
		t.Fatal(err)
	}
	s := open(t, etcd.Options{DataDir: dir, MinFree: -1})
	there := values(t, s, "")
	for _, key := range acknowledged {
		if _, ok := there[key]; !ok {
			t.Errorf("%s was acknowledged and is gone", key)
		}
	}
}
