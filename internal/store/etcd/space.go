package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"

	"tend.dev/tend/internal/store"
)

// lookEvery is how long a look at the disk counts.
const lookEvery = time.Second

// disk refuses commits before the disk is full: etcd could not even write that it has no room left.
type disk struct {
	opts Options

	mu     sync.Mutex
	looked time.Time
	free   int64
}

func newDisk(o Options) *disk { return &disk{opts: o} }

// check refuses a commit that would add to a disk that is nearly full. What only deletes may pass.
func (d *disk) check(txn store.Txn) error {
	if d.opts.MinFree < 0 {
		return nil
	}
	free, err := d.look()
	if err != nil || free >= d.opts.MinFree || deletesOnly(txn) {
		return nil //nolint:nilerr // a disk that can't be asked is not known to be full
	}
	return fmt.Errorf("%w: %d MiB free at %s, at least %d MiB are kept: free some (%s may be deleted to begin with), reads go on meanwhile",
		store.ErrNoSpace, free>>20, d.opts.DataDir, d.opts.MinFree>>20, d.ballast())
}

func deletesOnly(txn store.Txn) bool {
	for _, op := range txn.Do {
		if !op.Delete {
			return false
		}
	}
	return true
}

func (d *disk) look() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.looked) < lookEvery {
		return d.free, nil
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(d.opts.DataDir, &stat); err != nil {
		return 0, err
	}
	d.free, d.looked = int64(stat.Bavail)*stat.Bsize, time.Now()
	return d.free, nil
}

func (d *disk) ballast() string { return filepath.Join(d.opts.DataDir, "ballast") }

// keepBallast sets room aside to recover with, where there is plenty.
func (d *disk) keepBallast() {
	if d.opts.Ballast <= 0 {
		return
	}
	if _, err := os.Stat(d.ballast()); err == nil {
		return
	}
	free, err := d.look()
	if err != nil || free < 4*(d.opts.Ballast+max(d.opts.MinFree, 0)) {
		return
	}
	file, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	if unix.Fallocate(int(file.Fd()), 0, 0, d.opts.Ballast) != nil {
		_ = os.Remove(d.ballast())
	}
}

// Recover makes room in a database that reached its quota: history is forgotten, the file is packed, the alarm is
// disarmed.
func (s *Store) Recover(ctx context.Context) error {
	s.recovering.Lock()
	defer s.recovering.Unlock()
	alarms, err := s.client.AlarmList(ctx)
	if err != nil {
		return s.translate("list alarms", err)
	}
	if len(alarms.Alarms) == 0 {
		return nil // somebody else recovered meanwhile
	}
	s.opts.Logger.Warn("the database reached its quota: forgetting history and packing it", "quota", s.opts.Quota)
	page, err := s.List(ctx, "\x00none", store.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	// Physical: packing gains nothing before the forgotten history is really deleted.
	_, err = s.client.Compact(ctx, page.Revision, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return s.translate("compact", err)
	}
	if err := s.member.Server.Backend().Defrag(); err != nil {
		return fmt.Errorf("defragment: %w", err)
	}
	_, err = s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	return s.translate("disarm the alarm", err)
}
