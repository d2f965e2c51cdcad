package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"tend.dev/tend/internal/store"
)

// packEvery is the pause after a packing that gained little.
const packEvery = time.Minute

// perKey is the space that a record takes in the database besides its key and value.
const perKey = 256

// packing spaces out attempts to make room in the database: each stops the store for as long as the file takes to
// write.
type packing struct {
	mu sync.Mutex
	// notBefore is the earliest time of the next attempt.
	notBefore time.Time
}

// fits reports whether the database stays within its quota with a commit. Deletions always fit, since they make room.
func (s *Store) fits(txn store.Txn) bool {
	if deletesOnly(txn) {
		return true
	}
	return s.SizeBytes()+int64(txn.Size()+perKey*len(txn.Do)) < s.opts.Quota
}

// makeRoom packs a database that reached its quota (or that etcd's own alarm blocks), unless that gained little less
// than a minute ago. It returns ErrNoSpace if the commit still doesn't fit.
func (s *Store) makeRoom(txn store.Txn, alarmed bool) error {
	s.packing.mu.Lock()
	defer s.packing.mu.Unlock()
	if s.fits(txn) && !alarmed {
		return nil // another call made room meanwhile
	}
	if time.Now().Before(s.packing.notBefore) {
		return s.full()
	}
	// Don't use the caller's context: half a packing would gain nothing.
	if err := s.packAndLog(s.lifetime); err != nil || s.fits(txn) {
		return err
	}
	s.packing.notBefore = time.Now().Add(packEvery)
	return s.full()
}

// full returns ErrFull for a database that has no room left.
func (s *Store) full() error {
	return &store.SpaceError{Cause: store.ErrFull, Text: fmt.Sprintf(
		"server %s takes no writes: its database takes %d MiB of its quota of %d MiB, although it was packed just now",
		s.opts.Name, s.SizeBytes()>>20, s.opts.Quota>>20)}
}

// packAndLog requires packing.mu.
func (s *Store) packAndLog(ctx context.Context) error {
	before := s.SizeBytes()
	err := s.pack(ctx)
	after := s.SizeBytes()
	if err != nil || before-after < s.opts.Quota/4 {
		s.packing.notBefore = time.Now().Add(packEvery)
	}
	args := []any{"quota", s.opts.Quota, "before", before, "after", after}
	if err != nil {
		args = append(args, "error", err)
	}
	s.opts.Logger.Warn("the database reached its quota: its history was dropped and its file packed", args...)
	return err
}

func (s *Store) pack(ctx context.Context) error {
	page, err := s.List(ctx, nothing, store.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	// Physical: packing gains nothing before the compacted history is really deleted.
	_, err = s.client.Compact(ctx, page.Revision, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return s.translate("compact", err)
	}
	// The packed file is written next to the old one.
	if err := s.disk.keep(s.opts.MinFree/8, s.member.Server.Backend().SizeInUse()); err != nil {
		return fmt.Errorf("pack the database: %w", err)
	}
	if err := s.member.Server.Backend().Defrag(); err != nil {
		return fmt.Errorf("pack the database: %w", err)
	}
	if s.SizeBytes() >= s.opts.Quota {
		return s.full()
	}
	return s.disarm(ctx)
}

// disarm clears the alarm under which etcd refuses everything.
func (s *Store) disarm(ctx context.Context) error {
	alarms, err := s.client.AlarmList(ctx)
	if err == nil && len(alarms.Alarms) > 0 {
		_, err = s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	}
	return s.translate("take etcd's alarm back", err)
}
