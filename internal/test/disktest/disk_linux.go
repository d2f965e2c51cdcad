package disktest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// The requests that freeze and thaw a file system, from linux/fs.h.
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// Disk is an ext4 file system.
type Disk struct {
	// Folder is the mount point.
	Folder string

	t      testing.TB
	frozen atomic.Bool
}

// New mounts a disk of some bytes until the test ends.
func New(t testing.TB, size int64) *Disk {
	t.Helper()
	d := &Disk{t: t, Folder: t.TempDir()}
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		t.Fatal(err)
	}
	d.run("mkfs.ext4", "-q", "-F", image)
	d.run("mount", "-o", "loop", image, d.Folder)
	t.Cleanup(func() { d.Thaw(); d.run("umount", d.Folder) })
	return d
}

// run runs a system command; the commands need root and a loop device.
func (d *Disk) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// Frozen reports whether writes wait.
func (d *Disk) Frozen() bool { return d.frozen.Load() }

// Freeze makes writes wait until Thaw.
func (d *Disk) Freeze() {
	d.frozen.Store(true)
	d.control(fiFreeze)
}

// Thaw lets blocked writes continue.
func (d *Disk) Thaw() {
	if d.frozen.Swap(false) {
		d.control(fiThaw)
	}
}

func (d *Disk) control(request uintptr) {
	folder, err := os.Open(d.Folder)
	if err != nil {
		d.t.Error(err)
		return
	}
	defer folder.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, folder.Fd(), request, 0); errno != 0 {
		d.t.Errorf("freeze or thaw %s: %v", d.Folder, errno)
	}
}

// Fill takes all free space, to the last byte, until free is called.
func (d *Disk) Fill() (free func()) {
	d.t.Helper()
	path := filepath.Join(d.Folder, "filler")
	file, err := os.Create(path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	size := int64(0)
	for step := int64(64 << 20); step > 0; {
		err := unix.Fallocate(int(file.Fd()), 0, size, step)
		switch {
		case err == nil:
			size += step
		case errors.Is(err, unix.ENOSPC):
			step /= 2
		default:
			d.t.Fatalf("fill %s with %s bytes: %v", d.Folder, strconv.FormatInt(size, 10), err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			d.t.Error(err)
		}
	}
}
