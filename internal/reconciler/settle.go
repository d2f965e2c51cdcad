package reconciler

import (
	"context"
	"errors"
	"maps"
	"slices"

	"tend.dev/tend/internal/platform/delay"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
)

// unsettleLocked holds a key back after a reconcile one of whose commits may still be applied. A reconcile that was
// cancelled or panicked may have made such a commit without returning its error.
func (c *Controller) unsettleLocked(rec *record, err error) {
	var panicked *recovery.PanicError
	doubtful := errors.Is(err, store.ErrUnknownOutcome) || errors.Is(err, ErrDeadline) || errors.As(err, &panicked)
	if !doubtful || c.opts.Settle == nil {
		return
	}
	rec.unsettled = true
	c.parking.unsettled[rec] = struct{}{}
	poke(c.parking.doubt)
}

// watchOutcomes settles unknown outcomes until ctx ends.
func (c *Controller) watchOutcomes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.parking.doubt:
		}
		waiting := c.unsettled()
		revision, ok := c.settle(ctx)
		if !ok {
			return
		}
		c.settled(waiting, revision)
	}
}

// settle calls Settle until it succeeds. It reports false once ctx has ended.
func (c *Controller) settle(ctx context.Context) (int64, bool) {
	for failures := 0; ; failures++ {
		revision, err := c.opts.Settle(ctx)
		switch {
		case err == nil:
			return revision, true
		case ctx.Err() != nil:
			return 0, false
		case failures == 0:
			c.log.Warn("the outcome of a commit is unknown and the store does not answer, retrying", "error", err)
		}
		_ = delay.For(ctx, parkRetry)
	}
}

// unsettled returns the records whose commits the next call settles: those whose reconcile ended before it.
func (c *Controller) unsettled() []*record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.parking.unsettled))
}

// settled releases records once the view has a revision.
func (c *Controller) settled(records []*record, revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rec := range records {
		delete(c.parking.unsettled, rec)
		rec.unsettled, rec.revision = false, max(rec.revision, revision)
		if _, parked := c.parking.parked[rec]; parked {
			c.awaitLocked(rec)
		}
	}
}
