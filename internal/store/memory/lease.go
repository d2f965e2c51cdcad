package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"tend.dev/tend/internal/store"
)

type lease struct {
	ttl   time.Duration
	ends  time.Time
	timer *time.Timer
	keys  map[string]struct{}
}

// Grant creates a lease.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastLease++
	id := s.lastLease
	ttl = max(time.Second, (ttl + time.Second - 1).Truncate(time.Second))
	s.leases[id] = &lease{
		ttl: ttl, ends: time.Now().Add(ttl), keys: map[string]struct{}{},
		timer: time.AfterFunc(ttl, func() { s.expire(id) }),
	}
	return id, nil
}

// KeepAlive renews a lease.
func (s *Store) KeepAlive(ctx context.Context, id store.LeaseID) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.leases[id]
	if !ok {
		return fmt.Errorf("renew lease %x: %w", id, store.ErrLeaseNotFound)
	}
	l.ends = time.Now().Add(l.ttl)
	l.timer.Reset(l.ttl)
	return nil
}

// Revoke ends a lease.
func (s *Store) Revoke(ctx context.Context, id store.LeaseID) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.leases[id]; !ok {
		return fmt.Errorf("revoke lease %x: %w", id, store.ErrLeaseNotFound)
	}
	s.endLocked(id)
	return nil
}

// expire ends a lease whose timer fired, unless it was renewed at that moment.
func (s *Store) expire(id store.LeaseID) {
	if s.usable(context.Background()) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.leases[id]; ok && !time.Now().Before(l.ends) {
		s.endLocked(id)
	}
}

func (s *Store) endLocked(id store.LeaseID) {
	l := s.leases[id]
	l.timer.Stop()
	var ops []store.Op
	for _, key := range slices.Sorted(maps.Keys(l.keys)) {
		ops = append(ops, store.Op{Key: key, Delete: true})
	}
	s.applyLocked(ops)
	delete(s.leases, id)
}
