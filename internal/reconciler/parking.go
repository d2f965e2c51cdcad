package reconciler

import (
	"context"
	"math"
	"time"

	"tend.dev/tend/internal/platform/delay"
)

// parkRetry is the pause after the view failed to answer.
const parkRetry = time.Second

// parking holds keys back that committed something the view doesn't show yet: a reconcile of the past state would undo
// or repeat what was just done. They hold no worker meanwhile. Guarded by the controller's lock.
type parking struct {
	parked map[*record]struct{}
	// lowest is the revision the watcher waits for; cancel ends that wait for a lower one.
	lowest int64
	cancel context.CancelFunc
	// wake has room for one token: there is something to wait for.
	wake chan struct{}
	// unsettled are the records with a commit whose outcome is unknown; doubt has room for one token: there are some.
	unsettled map[*record]struct{}
	doubt     chan struct{}
}

func newParking() parking {
	return parking{
		parked: map[*record]struct{}{}, wake: make(chan struct{}, 1),
		unsettled: map[*record]struct{}{}, doubt: make(chan struct{}, 1),
	}
}

// seen returns the newest revision the view has; without a view it has everything.
func (c *Controller) seen() int64 {
	if c.opts.Revision == nil || c.opts.WaitFor == nil {
		return math.MaxInt64
	}
	return c.opts.Revision()
}

func (c *Controller) parkLocked(rec *record) {
	rec.phase = behind
	c.parking.parked[rec] = struct{}{}
	c.awaitLocked(rec)
}

// awaitLocked has the watcher of the view also wait for a parked record.
func (c *Controller) awaitLocked(rec *record) {
	if rec.unsettled {
		return // settle does it
	}
	if c.parking.cancel != nil && rec.revision < c.parking.lowest {
		c.parking.cancel()
	}
	poke(c.parking.wake)
}

// poke fills a channel that has room for one token.
func poke(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// watchView releases parked keys as the view catches up, until ctx ends.
func (c *Controller) watchView(ctx context.Context) {
	for ctx.Err() == nil {
		wait, revision := c.nextWait(ctx)
		if wait == nil {
			select {
			case <-ctx.Done():
			case <-c.parking.wake:
			}
			continue
		}
		err := c.opts.WaitFor(wait, revision)
		superseded := wait.Err() != nil
		c.endWait()
		if err != nil && !superseded {
			c.log.Warn("view does not catch up, waits on", "revision", revision, "error", err)
			_ = delay.For(ctx, parkRetry)
		}
		c.release(c.seen())
	}
}

// nextWait returns the context of the wait for the lowest parked revision, or nil if nothing is parked.
func (c *Controller) nextWait(ctx context.Context) (context.Context, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parking.lowest = math.MaxInt64
	for rec := range c.parking.parked {
		if !rec.unsettled {
			c.parking.lowest = min(c.parking.lowest, rec.revision)
		}
	}
	if c.parking.lowest == math.MaxInt64 {
		return nil, 0
	}
	wait, cancel := context.WithCancel(ctx)
	c.parking.cancel = cancel
	return wait, c.parking.lowest
}

func (c *Controller) endWait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parking.cancel()
	c.parking.cancel = nil
}

func (c *Controller) release(seen int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for rec := range c.parking.parked {
		if !rec.unsettled && rec.revision <= seen {
			delete(c.parking.parked, rec)
			c.pushLocked(rec)
		}
	}
}
