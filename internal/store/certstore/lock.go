package certstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
)

// lock is a lock that this process holds.
type lock struct {
	lease  store.LeaseID
	cancel context.CancelFunc
	ended  chan struct{}
}

// Lock implements certmagic.Locker: it waits until the name is free. The lock ends with this process, or when the
// process is cut off from the store for longer than lockLife.
func (s *Storage) Lock(ctx context.Context, name string) error {
	lease, err := s.store.Grant(ctx, lockLife)
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	held := s.keep(lease)
	if err := s.take(ctx, name, lease); err != nil {
		s.drop(context.WithoutCancel(ctx), held)
		return fmt.Errorf("lock %s: %w", name, err)
	}
	s.mu.Lock()
	s.held[name] = held
	s.mu.Unlock()
	return nil
}

// take creates the lock's key, and retries each time its holder releases it.
func (s *Storage) take(ctx context.Context, name string, lease store.LeaseID) error {
	key := locksPrefix + clean(name)
	for {
		_, err := s.store.Commit(ctx, store.Txn{
			Site: "certs.lock", If: []store.Condition{{Key: key}},
			Do: []store.Op{{Key: key, Value: []byte("held"), Lease: lease}},
		})
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := s.freed(ctx, key); err != nil {
			return err
		}
	}
}

// freed waits until a lock's key is deleted, or may have been.
func (s *Storage) freed(ctx context.Context, key string) error {
	page, err := s.store.List(ctx, key, store.ListOptions{})
	if err != nil {
		return err
	}
	gone := true
	for _, entry := range page.Entries {
		gone = gone && entry.Key != key
	}
	if gone {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := s.store.Watch(ctx, key, page.Revision+1)
	for batch := range watch.Batches() {
		for _, event := range batch.Events {
			if event.Key == key && event.Deleted {
				return nil
			}
		}
	}
	return watch.Err()
}

// keep renews a lease until it is dropped.
func (s *Storage) keep(lease store.LeaseID) *lock {
	ctx, cancel := context.WithCancel(context.Background())
	held := &lock{lease: lease, cancel: cancel, ended: make(chan struct{})}
	recovery.Go(func() {
		defer close(held.ended)
		tick := time.NewTicker(lockLife / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if errors.Is(s.store.KeepAlive(ctx, lease), store.ErrLeaseNotFound) {
					return // the lease ended: another process may take the lock
				}
			}
		}
	})
	return held
}

func (s *Storage) drop(ctx context.Context, held *lock) {
	held.cancel()
	<-held.ended
	_ = s.store.Revoke(ctx, held.lease) // if this fails, the lease expires by itself
}

// Unlock implements certmagic.Locker.
func (s *Storage) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	held := s.held[name]
	delete(s.held, name)
	s.mu.Unlock()
	if held == nil {
		return fmt.Errorf("unlock %s: it is not locked here", name)
	}
	s.drop(ctx, held)
	return nil
}
