package reconciler

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"time"

	"tend.dev/tend/internal/platform/recovery"
)

// resyncStep is the least time between two batches of a full pass, so that many keys don't wake the process all the
// time.
const resyncStep = 100 * time.Millisecond

// sweep is the safety net under events: the resync and the full pass. Its alarms only signal; the passes run in one
// goroutine of their own, since their callbacks (Dirty, Replay) may take a while and must not be called under the lock.
type sweep struct {
	resync, step chan struct{}
	round        round
}

// round is one full pass over every key: key i is due at start + (i+phase)·every/len(keys).
type round struct {
	keys  []Key
	next  int
	start time.Duration
	every time.Duration
	// phase in [0,1) is a controller's own, so that controllers don't run in lockstep.
	phase float64
}

func newSweep(name string, every time.Duration) sweep {
	return sweep{
		resync: make(chan struct{}, 1),
		step:   make(chan struct{}, 1),
		round:  round{every: every, phase: float64(hash(name)%1000) / 1000},
	}
}

// watchDrift runs the passes until ctx ends.
func (c *Controller) watchDrift(ctx context.Context) {
	if c.opts.Dirty != nil {
		c.signalIn(c.opts.Resync, c.sweep.resync)
	}
	if c.opts.Replay != nil {
		c.beginRound()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.sweep.resync:
			c.resync()
		case <-c.sweep.step:
			c.fullResync()
		}
	}
}

// resync enqueues the keys whose plan isn't empty, except those that failed: they have their backoff or rest.
func (c *Controller) resync() {
	c.signalIn(c.opts.Resync, c.sweep.resync)
	began := time.Now()
	dirty := c.dirty()
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range dirty {
		if rec := c.recordLocked(key); rec.phase == idle || rec.phase == waiting {
			c.pushLocked(rec)
		}
	}
	c.meter.cycle(len(dirty), took)
}

// dirty returns the keys that Dirty finds. If Dirty panics it returns all keys: each is reconciled, and only those that
// can't be reconciled fail.
func (c *Controller) dirty() (keys []Key) {
	found := func() error { keys = c.opts.Dirty(c.opts.Now()); return nil }
	if recovery.Call(found, "controller", c.opts.Name) != nil {
		return c.keys()
	}
	return keys
}

// beginRound lists the keys again. They are ordered by hash: a key keeps about its place from round to round while
// others come and go, and neighbours by name are far apart.
func (c *Controller) beginRound() {
	keys := slices.Clone(c.keys())
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Compare(a.hash(), b.hash()) })
	seen := c.seen()

	c.mu.Lock()
	r := &c.sweep.round
	r.keys, r.next, r.start = keys, 0, c.clock.now()
	for _, rec := range c.records {
		c.forgetLocked(rec, seen)
	}
	due := r.due()
	c.mu.Unlock()
	c.signalIn(due, c.sweep.step)
}

// fullResync enqueues the keys whose turn has come, including resting ones; a pending backoff is left alone.
func (c *Controller) fullResync() {
	c.mu.Lock()
	now := c.clock.now()
	r := &c.sweep.round
	for ; r.next < len(r.keys) && r.start+r.due() <= now; r.next++ {
		switch rec := c.recordLocked(r.keys[r.next]); rec.phase {
		case idle, waiting:
			c.pushLocked(rec)
		case resting:
			rec.failures, rec.terminal = 0, false
			c.pushLocked(rec)
		}
	}
	over := r.next == len(r.keys) && r.start+r.every <= now
	wait := max(r.start+r.due()-now, resyncStep)
	c.mu.Unlock()
	if over {
		c.beginRound()
		return
	}
	c.signalIn(wait, c.sweep.step)
}

// due returns when the next key, or after the last one the next round, is due, counted from the round's start.
func (r *round) due() time.Duration {
	if r.next >= len(r.keys) {
		return r.every
	}
	return time.Duration((float64(r.next) + r.phase) / float64(len(r.keys)) * float64(r.every))
}

func (c *Controller) signalIn(d time.Duration, signal chan<- struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers.set(c.clock.now()+d, func() {
		select {
		case signal <- struct{}{}:
		default:
		}
	})
}

func (k Key) hash() uint64 { return hash(k.String()) }

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}
