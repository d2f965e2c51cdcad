package reconciler

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"tend.dev/tend/internal/platform/recovery"
)

// cutGrace is the time for reconciles to return after their context was cancelled.
const cutGrace = 2 * time.Second

// Controller runs one Reconciler over the keys of one kind. Create it with New; it runs once.
//
// The queue gives every key one worker at a time; everything a key waits for is kept in its record and one heap of
// alarms. Callbacks (Reconciler, Replay, Dirty, Revision, WaitFor) are never called under the lock, so they may take
// locks under which others call Enqueue.
type Controller struct {
	opts  Options
	log   *slog.Logger
	meter *meter
	queue *workqueue.Typed[Key]
	ready chan struct{}
	sweep sweep // its round is guarded by mu

	mu      sync.Mutex
	clock   clock
	records map[Key]*record
	timers  timers
	parking parking
	// untried is the number of replayed keys that were not tried yet.
	untried int
	started bool
	stopped bool
}

// New returns a Controller; Run starts it. Keys may be enqueued before.
func New(o Options) *Controller {
	o = o.withDefaults()
	c := &Controller{
		opts:    o,
		log:     o.Logger.With("controller", o.Name),
		queue:   workqueue.NewTyped[Key](),
		ready:   make(chan struct{}),
		sweep:   newSweep(o.Name, o.FullResync),
		clock:   newClockFrom(systemTime()),
		records: map[Key]*record{},
		timers:  newTimers(),
		parking: newParking(),
	}
	c.meter = o.Metrics.meter(o.Name, c.queueState)
	return c
}

// Name returns the kind of keys this controller handles.
func (c *Controller) Name() string { return c.opts.Name }

// Enqueue queues keys after an event. Each is reconciled as soon as possible, once however often it is enqueued
// meanwhile. A key that is being reconciled is reconciled once more afterwards. A failing key is reconciled without
// waiting for its backoff, yet keeps its count of failures; a resting one gets all its retries again.
func (c *Controller) Enqueue(keys ...Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	for _, key := range keys {
		c.eventLocked(c.recordLocked(key))
	}
}

// Ready returns a channel that is closed once the keys were replayed and each was tried; a try that failed or asked to
// wait counts.
func (c *Controller) Ready() <-chan struct{} { return c.ready }

// Run works until ctx ends and the reconciles under way have finished. Those that haven't at DrainTime are cancelled; a
// *StuckError names those that ignore even that.
func (c *Controller) Run(ctx context.Context) error {
	if !c.start() {
		return ErrRunning
	}
	select {
	case <-ctx.Done():
		c.stop()
		return nil
	case <-c.synced():
	}
	c.replay()

	working, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(ErrStopping)
	var workers, watchers recovery.Group
	for range c.opts.Workers {
		workers.Go(func() { c.keep(working, c.work) })
	}
	for _, watch := range []func(context.Context){c.watchClock, c.watchView, c.watchOutcomes, c.watchDrift} {
		watchers.Go(func() { c.keep(ctx, watch) })
	}
	<-ctx.Done()
	c.stop()
	watchers.Wait()
	return c.drain(&workers, cut)
}

// keep runs a loop until it returns, also if it panics.
func (c *Controller) keep(ctx context.Context, loop func(context.Context)) {
	_ = recovery.Keep(ctx, func(ctx context.Context) error { loop(ctx); return nil }, "controller", c.opts.Name)
}

func (c *Controller) start() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.started
	c.started = true
	return first
}

func (c *Controller) synced() <-chan struct{} {
	if c.opts.Synced != nil {
		return c.opts.Synced
	}
	synced := make(chan struct{})
	close(synced)
	return synced
}

// replay enqueues every key once. Workers start after it, so what was enqueued before isn't reconciled twice.
func (c *Controller) replay() {
	keys := c.keys()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.untried = 1 // this function itself
	for _, key := range keys {
		rec := c.recordLocked(key)
		if !rec.replayed {
			rec.replayed = true
			c.untried++
		}
		c.eventLocked(rec)
	}
	c.triedLocked()
}

// keys returns every key there is; none if Replay panics.
func (c *Controller) keys() (keys []Key) {
	if c.opts.Replay != nil {
		_ = recovery.Call(func() error { keys = c.opts.Replay(); return nil }, "controller", c.opts.Name)
	}
	return keys
}

func (c *Controller) triedLocked() {
	if c.untried--; c.untried == 0 {
		close(c.ready)
	}
}

// stop refuses new work; workers drop what is still queued.
func (c *Controller) stop() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.queue.ShutDown()
}

func (c *Controller) drain(workers *recovery.Group, cut context.CancelCauseFunc) error {
	done := make(chan struct{})
	recovery.Go(func() {
		defer close(done)
		workers.Wait()
	})
	if closedWithin(done, c.opts.DrainTime) {
		return nil
	}
	cut(ErrStopping)
	if closedWithin(done, cutGrace) {
		return nil
	}
	return &StuckError{Name: c.opts.Name, Keys: c.keysIn(running)}
}

func closedWithin(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
