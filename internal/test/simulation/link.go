package simulation

import (
	"context"
	"fmt"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

// answerTime bounds a call of the store: etcd's own limit for one member.
const answerTime = 7 * time.Second

// errNoAnswer ends a call whose answer never came.
var errNoAnswer = fmt.Errorf("%w: request timed out", store.ErrSlow)

// link is a server's connection to the store, for one start of the server.
type link struct {
	*memory.Store
	w *World
	// number is the server's number, and life counts its starts.
	number int
	life   *server
	// from is the store's revision when the life began, and horizon what it has seen since.
	from    int64
	horizon horizon
}

func (w *World) connect(s *server) store.Store {
	l := &link{Store: w.store, w: w, life: s}
	l.from = l.list(records.ClusterKey, 0).Revision
	if w.shared() {
		return &severed{link: l, reach: &w.reach}
	}
	return l
}

// Close leaves the store open: it outlives the server.
func (l *link) Close() error { return nil }

// Commit implements store.Store, with the weather between.
func (l *link) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	l.placesWell(txn)
	l.marksWell(txn)
	fate, stalled, full := l.w.weather.fateOf()
	switch {
	case stalled != nil:
		return l.commitAtThaw(ctx, txn, stalled)
	case full && writes(txn):
		return 0, store.ErrNoSpace
	case !fate.unanswered:
		return l.apply(ctx, txn)
	}
	l.w.storyf("the store doesn't answer commit %s (%s)", txn.Site, fate)
	switch {
	case fate.lost:
	case fate.late > 0:
		l.w.weather.late.Go(func() {
			sleepFor(fate.late)
			_, _ = l.applyLate(txn) // the caller is not answered
		})
	default:
		_, _ = l.applyLate(txn) // the caller is not answered
	}
	return 0, noAnswer(ctx)
}

// commitAtThaw sends a transaction that is applied when the stall ends, whether or not a caller still waits for it.
func (l *link) commitAtThaw(ctx context.Context, txn store.Txn, stalled chan struct{}) (int64, error) {
	return l.send(ctx, func() (int64, error) {
		<-stalled
		return l.applyLate(txn)
	})
}

// send applies a transaction, whether or not a caller still waits for it.
func (l *link) send(ctx context.Context, apply func() (int64, error)) (int64, error) {
	type answer struct {
		revision int64
		err      error
	}
	answers := make(chan answer, 1)
	l.w.weather.late.Go(func() {
		revision, err := apply()
		answers <- answer{revision, err}
	})
	limit := time.NewTimer(answerTime)
	defer limit.Stop()
	select {
	case a := <-answers:
		return a.revision, a.err
	case <-limit.C:
		return 0, unknown(errNoAnswer)
	case <-ctx.Done():
		return 0, unknown(ctx.Err())
	}
}

func writes(txn store.Txn) bool {
	for _, op := range txn.Do {
		if !op.Delete {
			return true
		}
	}
	return false
}

// noAnswer waits as long as a caller does.
func noAnswer(ctx context.Context) error {
	limit := time.NewTimer(answerTime)
	defer limit.Stop()
	select {
	case <-limit.C:
		return unknown(errNoAnswer)
	case <-ctx.Done():
		return unknown(ctx.Err())
	}
}

func (l *link) apply(ctx context.Context, txn store.Txn) (int64, error) {
	if l.w.spins(txn.Site) {
		return 0, noAnswer(ctx) // which makes every caller wait
	}
	l.w.committing.Lock()
	defer l.w.committing.Unlock()
	leads := l.leads()
	revision, err := l.w.archive.commit(txn, func() (int64, error) {
		revision, err := l.Store.Commit(ctx, txn)
		if err == nil {
			l.claims(txn)
			l.mayWrite(leads, txn)
		}
		return revision, err
	})
	if err == nil {
		l.w.labs.commit(txn)
		l.surplus(txn)
		l.keepsHistory(txn)
	}
	return revision, err
}

// applyLate applies a sent transaction, although its sender may be dead.
func (l *link) applyLate(txn store.Txn) (int64, error) {
	return l.apply(context.Background(), txn)
}

// Get implements store.Store: a linearizable read waits for a stalled store.
func (l *link) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := l.awaitThaw(ctx); err != nil {
		return store.Entry{}, err
	}
	return l.Store.Get(ctx, key)
}

// List implements store.Store.
func (l *link) List(ctx context.Context, prefix string, opts store.ListOptions) (store.Page, error) {
	if err := l.awaitThaw(ctx); err != nil {
		return store.Page{}, err
	}
	return l.Store.List(ctx, prefix, opts)
}

// Grant implements store.Store.
func (l *link) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	if err := l.awaitHearing(ctx); err != nil {
		return 0, err
	}
	id, err := l.Store.Grant(ctx, ttl)
	if err == nil {
		l.w.archive.grant(id)
	}
	return id, err
}

// awaitHearing delays or drops a heartbeat according to the faults.
func (l *link) awaitHearing(ctx context.Context) error {
	l.w.weather.mu.Lock()
	deaf := l.w.weather.deaf
	l.w.weather.mu.Unlock()
	if deaf {
		return noAnswer(ctx)
	}
	return l.awaitThaw(ctx)
}

// KeepAlive implements store.Store.
func (l *link) KeepAlive(ctx context.Context, id store.LeaseID) error {
	l.renews(id)
	if err := l.awaitHearing(ctx); err != nil {
		return err
	}
	err := l.Store.KeepAlive(ctx, id)
	if err == nil {
		l.w.archive.beat(id)
	}
	return err
}

func (l *link) awaitThaw(ctx context.Context) error {
	l.w.weather.mu.Lock()
	stalled := l.w.weather.stalled
	l.w.weather.mu.Unlock()
	if stalled == nil {
		return nil
	}
	limit := time.NewTimer(answerTime)
	defer limit.Stop()
	select {
	case <-stalled:
		return nil
	case <-limit.C:
		return errNoAnswer
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Watch implements store.Store, later by the lag.
func (l *link) Watch(ctx context.Context, prefix string, from int64) store.Watcher {
	inner := l.Store.Watch(ctx, prefix, from)
	seen := func(revision int64) {
		if prefix == "" { // the view's
			l.horizon.pass(revision)
		}
	}
	seen(from - 1)
	out := &laggard{Watcher: inner, batches: make(chan store.Batch)}
	go func() {
		defer close(out.batches)
		for batch := range inner.Batches() {
			l.w.weather.mu.Lock()
			lag, stalled := l.w.weather.lag, l.w.weather.stalled
			l.w.weather.mu.Unlock()
			if stalled != nil {
				select {
				case <-stalled:
				case <-ctx.Done():
				}
			}
			if lag > 0 {
				sleep(ctx, lag)
			}
			select {
			case out.batches <- batch:
				seen(batch.Revision)
			case <-ctx.Done(): // the inner watch ends too
			}
		}
	}()
	return out
}

type laggard struct {
	store.Watcher
	batches chan store.Batch
}

func (l *laggard) Batches() <-chan store.Batch { return l.batches }

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// unknown returns the error of a commit whose outcome is unknown.
func unknown(cause error) error { return fmt.Errorf("%w: %w", store.ErrUnknownOutcome, cause) }
