package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
)

// weather is what goes wrong between the server and its store. Its zero value is fine weather.
type weather struct {
	mu sync.Mutex
	// random draws what happens to a commit.
	random *rand.Rand
	// unknown is the share of commits that end without an answer: some are never applied, some at once, some late.
	unknown float64
	// stalled is closed at the end of a stall; nil in none. Nothing is answered meanwhile, and what was sent is applied then.
	stalled chan struct{}
	// full refuses what writes.
	full bool
	// lag is how much later the watch learns of a commit.
	lag time.Duration
	// late are commits on their way to the store.
	late sync.WaitGroup
}

// calm reports whether nothing is wrong.
func (f *weather) calm() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unknown == 0 && f.stalled == nil && !f.full && f.lag == 0
}

// clear ends all that is wrong.
func (f *weather) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unknown, f.full, f.lag = 0, false, 0
	if f.stalled != nil {
		close(f.stalled)
		f.stalled = nil
	}
}

// fate is what becomes of one commit.
type fate struct {
	unanswered bool
	lost       bool
	late       time.Duration
}

func (f *weather) fateOf() (fate, chan struct{}, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stalled != nil || f.full {
		return fate{}, f.stalled, f.full
	}
	if f.unknown == 0 || f.random.Float64() >= f.unknown {
		return fate{}, nil, false
	}
	switch f.random.IntN(3) {
	case 0:
		return fate{unanswered: true, lost: true}, nil, false
	case 1:
		return fate{unanswered: true}, nil, false
	}
	return fate{unanswered: true, late: time.Duration(1+f.random.IntN(12_000)) * time.Millisecond}, nil, false
}

// answerTime is how long the store may take before whoever asked gives up: etcd's own limit for one member.
const answerTime = 7 * time.Second

// errNoAnswer ends a call whose answer never came.
var errNoAnswer = errors.New("request timed out")

// link is the store as one life of the server reaches it.
type link struct {
	*memory.Store
	w *World
}

func (w *World) connect(*server) store.Store { return &link{Store: w.store, w: w} }

// Close leaves the store open: it outlives the server.
func (l *link) Close() error { return nil }

// Commit implements store.Store, with the weather between.
func (l *link) Commit(ctx context.Context, txn store.Txn) (int64, error) {
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
			time.Sleep(fate.late)
			_, _ = l.applyLate(txn) // nobody hears of it
		})
	default:
		_, _ = l.applyLate(txn) // nobody hears of it
	}
	return 0, noAnswer(ctx)
}

func (f fate) String() string {
	switch {
	case f.lost:
		return "it is lost"
	case f.late > 0:
		return "it is applied after " + f.late.String()
	}
	return "it is applied"
}

// commitAtThaw sends a transaction that is applied when the stall ends, whoever still waits for it then.
func (l *link) commitAtThaw(ctx context.Context, txn store.Txn, stalled chan struct{}) (int64, error) {
	type answer struct {
		revision int64
		err      error
	}
	answers := make(chan answer, 1)
	l.w.weather.late.Go(func() {
		<-stalled
		revision, err := l.applyLate(txn)
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
		return 0, noAnswer(ctx) // which makes everyone wait
	}
	l.w.committing.Lock()
	defer l.w.committing.Unlock()
	revision, err := l.Store.Commit(ctx, txn)
	if err == nil {
		l.w.archive.commit(txn, revision)
	}
	return revision, err
}

// applyLate applies what was sent, although its sender may be gone.
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

// KeepAlive implements store.Store.
func (l *link) KeepAlive(ctx context.Context, id store.LeaseID) error {
	if err := l.awaitThaw(ctx); err != nil {
		return err
	}
	err := l.Store.KeepAlive(ctx, id)
	if err == nil {
		l.w.beat.Store(int64(time.Since(l.w.began)))
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

// unknown is the error of a commit whose outcome is unknown.
func unknown(cause error) error { return fmt.Errorf("%w: %w", store.ErrUnknownOutcome, cause) }
