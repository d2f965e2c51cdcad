//go:build integration

package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tend.dev/tend/internal/compat/plugin"
	buildlog "tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime/process/journal"
	"tend.dev/tend/internal/platform/retention"
	"tend.dev/tend/internal/store/blob"
)

// smallDisk mounts a file system of one megabyte with a few dozen inodes.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,nr_inodes=64"); err != nil {
		t.Fatalf("mount a small disk: %v: this test needs root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill uses up all space and all inodes of a disk; free releases both.
func fill(t *testing.T, disk string) (free func()) {
	t.Helper()
	dir := filepath.Join(disk, "filler")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(dir, "big"))
	if err == nil {
		_, err = io.Copy(big, bytes.NewReader(make([]byte, 2<<20)))
		err = errors.Join(err, big.Close())
	}
	for n := 0; errors.Is(err, syscall.ENOSPC) && n < 100; n++ {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), nil, 0o600)
		if err == nil {
			err = syscall.ENOSPC // the next inode
		} else {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk isn't full: %v", err)
	}
	return func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullDiskPasses: every writer below the root fails on a disk without space and without inodes, loses no existing
// data, and writes again once there is space, without being opened again.
func TestFullDiskPasses(t *testing.T) {
	disk := smallDisk(t)
	root := filepath.Join(disk, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	writers := map[string]func() error{
		"a container's output":     containerOutput(t, disk),
		"an output not yet opened": unopenedOutput(t, disk),
		"blobs":                    blobs(t, disk),
		"build logs":               buildLogs(t, disk),
		"plugins":                  plugins(t, disk),
		"the quarantine":           quarantine(disk),
		"the node's name":          func() error { _, err := (&host.Options{Root: root, Node: "n1"}).Prepare(); return err },
	}
	full := fill(t, disk)
	for name, write := range writers {
		for range 2 {
			if err := write(); err == nil {
				t.Errorf("%s: written on a full disk", name)
			}
		}
	}
	full()
	for name, write := range writers {
		if err := write(); err != nil {
			t.Errorf("%s: with room again: %v", name, err)
		}
	}
}

func containerOutput(t *testing.T, disk string) func() error {
	t.Helper()
	dir := filepath.Join(disk, "output")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := journal.Open(dir, 1, 2)
	if err == nil {
		err = w.Write(journal.Line{Text: "before"})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return func() error { return w.Write(journal.Line{Text: strings.Repeat("x", 8<<10), Time: time.Now()}) }
}

// unopenedOutput is opened by its first write, while the disk is full.
func unopenedOutput(t *testing.T, disk string) func() error {
	t.Helper()
	dir := filepath.Join(disk, "unopened")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var w *journal.Writer
	t.Cleanup(func() {
		if w != nil {
			_ = w.Close()
		}
	})
	return func() (err error) {
		if w == nil {
			if w, err = journal.Open(dir, 1<<20, 2); err != nil {
				return err
			}
		}
		return w.Write(journal.Line{Text: strings.Repeat("x", 8<<10), Time: time.Now()})
	}
}

func blobs(t *testing.T, disk string) func() error {
	t.Helper()
	store, err := blob.Open(blob.Options{Root: disk, MinFree: -1, Ledger: retention.Open(disk, "blobs", "a")})
	if err != nil {
		t.Fatal(err)
	}
	return func() error { _, err := store.Put(strings.NewReader("text"), blob.MaxBytes); return err }
}

func buildLogs(t *testing.T, disk string) func() error {
	t.Helper()
	logs, err := buildlog.Open(filepath.Join(disk, "logs"))
	if err != nil {
		t.Fatal(err)
	}
	return func() error {
		log, err := logs.Begin("prod-web.0a")
		if err != nil {
			return err
		}
		log.End("done")
		var got string
		err = logs.Read(context.Background(), "prod-web.0a", false, func(line string) error { got += line; return nil })
		if err == nil && got != "done" {
			err = fmt.Errorf("the log reads %q", got)
		}
		return err
	}
}

func plugins(t *testing.T, disk string) func() error {
	t.Helper()
	source := filepath.Join(t.TempDir(), "hello")
	for name, text := range map[string]string{"plugin.yml": "name: hello\n", "commands/say": "#!/bin/sh\n"} {
		path := filepath.Join(source, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := plugin.Open(plugin.Options{Dir: filepath.Join(disk, "plugins"), Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	return func() error { _, err := root.Install(context.Background(), plugin.Request{Source: source}); return err }
}

func quarantine(disk string) func() error {
	ledger := retention.Open(disk, "sort", "a")
	return func() error { return ledger.Claim("x") }
}
