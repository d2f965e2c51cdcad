package reconciler

import (
	"context"
	"log/slog"
	"time"
)

// Options are the options of a Controller. Only Name and Reconciler are required.
type Options struct {
	// Name is the kind of keys this controller handles; logs and metrics carry it.
	Name string
	// Reconciler reconciles a key.
	Reconciler Reconciler
	// Workers is the number of keys reconciled at once; default 4.
	Workers int
	// Deadline of one reconcile; default 300 s. One that returns later counts as failed, whatever it returned.
	Deadline time.Duration

	// Replay returns every key there is. It is called after Synced, and every key it returns is reconciled once. It is
	// called again when a round of the full pass begins, so that keys that are gone drop out, and for a pass in which
	// Dirty panicked. nil replays nothing.
	Replay func() []Key
	// Synced is closed when the view is complete: no key is reconciled before. nil means complete already.
	Synced <-chan struct{}

	// Dirty is a pure pass over the view: it returns the keys whose plan isn't empty. It is called every Resync; nil is
	// never.
	Dirty func(now time.Time) []Key
	// Resync is the time between two passes; default 10 s.
	Resync time.Duration
	// FullResync is the time in which every key of Replay is reconciled once, spread evenly; default 10 min.
	FullResync time.Duration

	// Backoff are the waits after the first, second, … failure in a row, each with up to 10 % of jitter either way. A
	// key that failed once more than there are waits rests until its next event or full pass. Default 1, 2, 4, 8, 16,
	// 30 s.
	Backoff []time.Duration
	// DrainTime is the time for reconciles under way to finish after the stop, before their context is cancelled;
	// default 10 s.
	DrainTime time.Duration

	// Revision returns the newest revision in the view, and WaitFor blocks until the view has reached one. With both
	// set a key isn't reconciled before the view has what its last reconcile committed. If either is nil there is no
	// such wait.
	Revision func() int64
	WaitFor  func(ctx context.Context, revision int64) error

	// Settle returns a revision by which every commit of this process with an unknown outcome is applied, or can no
	// longer be. A key whose reconcile failed with store.ErrUnknownOutcome, or was cancelled, isn't reconciled again
	// before Settle has returned and the view has that revision. nil: it is retried like any other failure.
	Settle func(ctx context.Context) (int64, error)

	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
	// Now is the wall clock that is passed to Dirty; default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.Workers = orDefault(o.Workers, 4)
	o.Deadline = orDefault(o.Deadline, 300*time.Second)
	o.Resync = orDefault(o.Resync, 10*time.Second)
	o.FullResync = orDefault(o.FullResync, 10*time.Minute)
	o.DrainTime = orDefault(o.DrainTime, 10*time.Second)
	if o.Backoff == nil {
		o.Backoff = []time.Duration{
			time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second,
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func orDefault[T int | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}
