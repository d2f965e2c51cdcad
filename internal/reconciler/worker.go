package reconciler

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
)

// outcome is the result of a reconcile.
type outcome struct {
	result Result
	err    error
	took   time.Duration
}

// work takes keys from the queue until it is shut down. ctx ends when the drain time is over.
func (c *Controller) work(ctx context.Context) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		c.process(ctx, key)
	}
}

func (c *Controller) process(ctx context.Context, key Key) {
	defer c.queue.Done(key)
	rec := c.begin(key)
	if rec == nil {
		return
	}
	out := c.reconcile(ctx, key)
	after, next := c.end(rec, out)
	c.meter.observe(out)
	if ctx.Err() != nil {
		c.log.Warn("reconcile cut, the controller stops", keyAttrs(key, "error", out.err)...)
		return
	}
	c.report(after, next, out)
}

// begin marks a key as running; it returns nil if the key isn't to be reconciled now.
func (c *Controller) begin(key Key) *record {
	seen := c.seen()
	c.mu.Lock()
	defer c.mu.Unlock()
	rec := c.records[key]
	if c.stopped {
		return nil
	}
	if rec.unsettled || rec.revision > seen {
		c.parkLocked(rec)
		return nil
	}
	rec.phase = running
	return rec
}

// end decides what follows, and returns the record as it was left and the time of the next reconcile.
func (c *Controller) end(rec *record, out outcome) (after record, next time.Time) {
	seen := c.seen()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleLocked(rec, out)
	after, next = *rec, c.nextLocked(rec)
	c.forgetLocked(rec, seen)
	return after, next
}

// reconcile calls the Reconciler within its deadline and recovers from its panic.
func (c *Controller) reconcile(ctx context.Context, key Key) (out outcome) {
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Deadline, ErrDeadline)
	defer cancel()
	out.err = recovery.Call(func() (err error) {
		out.result, err = c.opts.Reconciler.Reconcile(ctx, key)
		return err
	}, "object", key)
	// Whatever a cancelled reconcile returned, it may have been cancelled half way: it is reconciled again.
	if errors.Is(context.Cause(ctx), ErrDeadline) {
		out.err = &cutError{after: c.opts.Deadline, cause: out.err}
	}
	out.took = time.Since(start)
	return out
}

// report logs what a person may want to know; a successful reconcile is logged only for debugging.
func (c *Controller) report(rec record, next time.Time, out outcome) {
	if out.err == nil && !c.log.Enabled(context.Background(), slog.LevelDebug) {
		return // the common case, not worth its attributes
	}
	attrs := keyAttrs(rec.key, "took", out.took)
	if out.err == nil {
		c.log.Debug("reconciled", append(attrs, "after", out.result.After, "revision", out.result.Revision)...)
		return
	}
	attrs = append(attrs, "error", out.err, "failures", rec.failures)
	switch {
	case rec.terminal:
		c.log.Error("reconcile needs a change by a person, not retried", attrs...)
	case rec.phase == resting:
		c.log.Error("reconcile keeps failing, rests until an event or a full resync", attrs...)
	case errors.Is(out.err, store.ErrConflict):
		c.log.Debug("reconcile lost a race, is requeued", append(attrs, "next", next)...)
	default:
		c.log.Warn("reconcile failed, tries again", append(attrs, "next", next)...)
	}
}

func keyAttrs(key Key, more ...any) []any {
	return append([]any{
		slog.String("kind", key.Kind), slog.String("scope", key.Scope), slog.String("name", key.Name),
	}, more...)
}
