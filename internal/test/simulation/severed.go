package simulation

import (
	"context"
	"time"

	"tend.dev/tend/internal/store"
)

// severed is the store over a network that may be cut or slow. Calls during a cut are lost; watches deliver what they
// missed when the cut ends.
type severed struct {
	*link
	reach *reach
}

// reaches waits until a call arrives, or as long as a caller does if the server is cut off.
func (s *severed) reaches(ctx context.Context) error {
	if s.reach.until() == nil {
		if d := s.reach.delay(); d > 0 {
			sleep(ctx, d)
		}
		return ctx.Err()
	}
	limit := time.NewTimer(answerTime)
	defer limit.Stop()
	select {
	case <-limit.C:
		return errNoAnswer
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Commit implements store.Store.
func (s *severed) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	late, dies := s.reach.dies()
	switch d := s.reach.delay(); {
	case s.reach.until() != nil:
		return 0, unknown(s.reaches(ctx))
	case dies:
		return s.commitAndDie(ctx, txn, late)
	case d > 0:
		return s.send(ctx, func() (int64, error) {
			sleepFor(d)
			return s.link.Commit(context.Background(), txn)
		})
	}
	return s.link.Commit(ctx, txn)
}

// commitAndDie sends a transaction, and ends the server before it is applied.
func (s *severed) commitAndDie(ctx context.Context, txn store.Txn, late time.Duration) (int64, error) {
	s.w.storyf("server %s dies in the middle of commit %s", serverName(s.number), txn.Site)
	s.w.weather.late.Go(func() {
		sleepFor(late)
		_, _ = s.link.Commit(context.Background(), txn) // its sender is dead
	})
	s.life.die()
	return 0, noAnswer(ctx)
}

// Get implements store.Store.
func (s *severed) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := s.reaches(ctx); err != nil {
		return store.Entry{}, err
	}
	return s.link.Get(ctx, key)
}

// List implements store.Store.
func (s *severed) List(ctx context.Context, prefix string, opts store.ListOptions) (store.Page, error) {
	if err := s.reaches(ctx); err != nil {
		return store.Page{}, err
	}
	return s.link.List(ctx, prefix, opts)
}

// Grant implements store.Store.
func (s *severed) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	if err := s.reaches(ctx); err != nil {
		return 0, err
	}
	return s.link.Grant(ctx, ttl)
}

// KeepAlive implements store.Store.
func (s *severed) KeepAlive(ctx context.Context, id store.LeaseID) error {
	if err := s.reaches(ctx); err != nil {
		return err
	}
	return s.link.KeepAlive(ctx, id)
}

// Revoke implements store.Store.
func (s *severed) Revoke(ctx context.Context, id store.LeaseID) error {
	if err := s.reaches(ctx); err != nil {
		return err
	}
	return s.link.Revoke(ctx, id)
}

// Watch implements store.Store.
func (s *severed) Watch(ctx context.Context, prefix string, from int64) store.Watcher {
	inner := s.link.Watch(ctx, prefix, from)
	out := &laggard{Watcher: inner, batches: make(chan store.Batch)}
	go func() {
		defer close(out.batches)
		for batch := range inner.Batches() {
			if healed := s.reach.until(); healed != nil {
				select {
				case <-healed:
				case <-ctx.Done():
				}
			} else if d := s.reach.delay(); d > 0 {
				sleep(ctx, d)
			}
			select {
			case out.batches <- batch:
			case <-ctx.Done(): // the inner watch ends too
			}
		}
	}()
	return out
}
