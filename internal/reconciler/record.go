package reconciler

import (
	"math/rand/v2"
	"time"
)

// phase is the state of a key. A key without a record is idle.
//
//	idle ─event→ queued ─worker→ running ─┬ done ─────→ idle
//	               ↑ ↑                    ├ requeue ──→ waiting ──time or event→ queued
//	               │ └─view caught up─ behind           │
//	               │                      ├ failed ───→ retrying ─time or event→ queued
//	               └──event or full pass──┴ terminal, or failed too often → resting
type phase int

const (
	idle     phase = iota
	queued         // in the queue, or behind
	behind         // out of the queue until the view has its revision
	running        // a worker has it
	waiting        // requeued for a time
	retrying       // failed; a retry at a time
	resting        // failed too often, or terminally: only an event or a full pass wakes it
)

// record holds what the queue knows of a key. Idle keys without anything to remember have none. Guarded by the
// controller's lock.
type record struct {
	key   Key
	phase phase
	// queuedAt is the queue time at which it was queued last.
	queuedAt time.Duration
	// again is set if an event came while a worker had the key.
	again bool
	// replayed is set if the controller isn't ready before the key was tried.
	replayed bool

	// failures in a row, with the last one's error and queue time.
	failures int
	err      error
	failedAt time.Duration
	terminal bool
	// hurried is set if an event already brought a reconcile forward since the failures began.
	hurried bool

	// revision is the revision that the view must reach before the next reconcile; 0 for none.
	revision int64
	// unsettled is set if a commit of the last reconcile may still be applied. No reconcile begins before that is
	// settled.
	unsettled bool
	// requeue is the alarm of waiting and retrying.
	requeue *alarm
}

func (c *Controller) recordLocked(key Key) *record {
	rec, ok := c.records[key]
	if !ok {
		rec = &record{key: key}
		c.records[key] = rec
	}
	return rec
}

// eventLocked handles an event of the key: it is reconciled as soon as possible.
func (c *Controller) eventLocked(rec *record) {
	switch rec.phase {
	case queued, behind:
	case running:
		rec.again = true
	case idle, waiting:
		c.pushLocked(rec)
	case retrying:
		c.hurryLocked(rec)
	case resting:
		rec.failures, rec.terminal = 0, false // the world changed: the key gets all its retries again
		c.hurryLocked(rec)
	}
}

// hurryLocked brings the reconcile of a failed key forward: the event may be the fix. The first event causes a
// reconcile at once, those after it no sooner than the shortest backoff after the last failure: a failing reconcile
// whose own writes come back as events must not spin. The count of failures stays; only a success clears it.
func (c *Controller) hurryLocked(rec *record) {
	at := rec.failedAt
	if rec.hurried && len(c.opts.Backoff) > 0 {
		at += c.opts.Backoff[0]
	}
	rec.hurried = true
	if at <= c.clock.now() {
		c.pushLocked(rec)
		return
	}
	if rec.requeue == nil || at < rec.requeue.due {
		c.requeueLocked(rec, retrying, at)
	}
}

func (c *Controller) pushLocked(rec *record) {
	c.timers.stop(rec.requeue)
	rec.requeue = nil
	rec.phase, rec.queuedAt = queued, c.clock.now()
	c.queue.Add(rec.key)
}

func (c *Controller) requeueLocked(rec *record, next phase, due time.Duration) {
	c.timers.stop(rec.requeue)
	rec.phase = next
	rec.requeue = c.timers.set(due, func() { c.pushLocked(rec) })
}

// settleLocked decides what follows a reconcile.
func (c *Controller) settleLocked(rec *record, out outcome) {
	again := rec.again
	rec.again = false
	rec.revision = max(rec.revision, out.result.Revision)
	if rec.replayed {
		rec.replayed = false
		c.triedLocked()
	}
	if out.err != nil {
		c.unsettleLocked(rec, out.err)
		c.settleFailureLocked(rec, out)
	} else {
		if !out.result.Unfinished {
			rec.failures, rec.err, rec.terminal, rec.hurried = 0, nil, false, false
		}
		if rec.phase = idle; out.result.After > 0 {
			c.requeueLocked(rec, waiting, c.clock.in(out.result.After))
		}
	}
	if again {
		c.eventLocked(rec)
	}
}

func (c *Controller) settleFailureLocked(rec *record, out outcome) {
	rec.err, rec.failedAt, rec.terminal = out.err, c.clock.now(), IsTerminal(out.err)
	rec.failures++
	if rec.terminal || rec.failures > len(c.opts.Backoff) {
		rec.phase = resting
		return
	}
	c.requeueLocked(rec, retrying, rec.failedAt+jitter(c.opts.Backoff[rec.failures-1]))
}

// forgetLocked drops the record of a key if there is nothing to remember. seen is the view's revision.
func (c *Controller) forgetLocked(rec *record, seen int64) {
	if rec.phase == idle && rec.revision <= seen && rec.failures == 0 {
		delete(c.records, rec.key)
	}
}

// jitter returns d plus or minus up to 10 %: keys that failed together don't come back together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
