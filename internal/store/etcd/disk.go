package etcd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tend.dev/tend/internal/store"
)

// disk refuses commits that would fill the disk: etcd could not even record that the disk is full, and would give up.
type disk struct{ opts Options }

// check returns ErrNoSpace if a commit must not be tried.
func (d disk) check(txn store.Txn) error {
	if deletesOnly(txn) {
		return d.keep(d.opts.MinFree/8, 0)
	}
	return d.keep(d.opts.MinFree, int64(txn.Size()))
}

// Room implements store.Bounded.
func (s *Store) Room() error { return s.disk.keep(s.disk.opts.MinFree, 0) }

// keep returns ErrNoSpace if writing some bytes would leave less free than least.
func (d disk) keep(least, writing int64) error {
	if d.opts.MinFree < 0 {
		return nil
	}
	free, err := freeBytes(d.opts.DataDir)
	if err != nil || free-writing >= least {
		return nil //nolint:nilerr // a disk that can't be asked is not known to be full
	}
	return &store.SpaceError{Cause: store.ErrNoSpace, Text: fmt.Sprintf(
		"server %s takes no writes: %s has %d MiB free, %d MiB must stay free%s",
		d.opts.Name, d.opts.DataDir, free>>20, least>>20, d.firstAid())}
}

// firstAid returns the advice to remove the ballast, if there is one.
func (d disk) firstAid() string {
	info, err := os.Stat(d.ballast())
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (first aid: rm %s gives %d MiB back, for deleting objects)", d.ballast(), info.Size()>>20)
}

// cure returns the next step for a store that can't be opened for lack of space.
func (d disk) cure(err error) string {
	if !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		return ""
	}
	return fmt.Sprintf("\n  the disk of %s is full: free space there%s, and start again; nothing is lost, and containers keep running",
		d.opts.DataDir, d.firstAid())
}

func deletesOnly(txn store.Txn) bool {
	return !slices.ContainsFunc(txn.Do, func(op store.Op) bool { return !op.Delete })
}

func (d disk) ballast() string { return filepath.Join(d.opts.DataDir, "ballast") }

// keepBallast reserves disk space if there is plenty. The store runs without it, too.
func (d disk) keepBallast() {
	if info, err := os.Stat(d.ballast()); d.opts.Ballast <= 0 || (err == nil && info.Size() == d.opts.Ballast) {
		return
	}
	free, err := freeBytes(d.opts.DataDir)
	if err != nil || free < 4*(d.opts.Ballast+max(d.opts.MinFree, 0)) {
		return
	}
	file, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	if reserve(file, d.opts.Ballast) != nil {
		_ = os.Remove(d.ballast())
	}
}
