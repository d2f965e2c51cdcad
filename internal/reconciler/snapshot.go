package reconciler

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"tend.dev/tend/internal/platform/recovery"
)

// State describes what a controller is doing, for debugging and tests. Lists are sorted by key.
type State struct {
	Queued  []KeyState
	Running []KeyState
	// Behind wait for the view to show what they committed.
	Behind []KeyState
	// Waiting were requeued for Next.
	Waiting []KeyState
	// Retrying failed and are retried at Next.
	Retrying []KeyState
	// Resting failed too often or terminally; only an event or a full pass wakes them.
	Resting []KeyState
}

// KeyState is the state of one key.
type KeyState struct {
	Key Key
	// Next is the time of the next reconcile without an event; zero if no time is set.
	Next time.Time
	// Failures is the number of failures in a row; Err is the error of the last one.
	Failures int
	Err      error
	Terminal bool
	// Revision is the revision that the view must reach before the next reconcile.
	Revision int64
}

// Snapshot returns what the controller is doing.
func (c *Controller) Snapshot() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	var state State
	lists := map[phase]*[]KeyState{
		queued: &state.Queued, running: &state.Running, behind: &state.Behind,
		waiting: &state.Waiting, retrying: &state.Retrying, resting: &state.Resting,
	}
	for _, rec := range c.records {
		if list := lists[rec.phase]; list != nil {
			*list = append(*list, KeyState{
				Key: rec.key, Next: c.nextLocked(rec), Failures: rec.failures, Err: rec.err,
				Terminal: rec.terminal, Revision: rec.revision,
			})
		}
	}
	for _, list := range lists {
		slices.SortFunc(*list, func(a, b KeyState) int { return cmp.Compare(a.Key.String(), b.Key.String()) })
	}
	return state
}

// nextLocked returns the wall time of a key's next reconcile, unless the clock is set meanwhile.
func (c *Controller) nextLocked(rec *record) time.Time {
	if rec.requeue == nil {
		return time.Time{}
	}
	return time.Now().Add(rec.requeue.due - c.clock.now()).Round(0)
}

func (c *Controller) keysIn(p phase) []Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []Key
	for _, rec := range c.records {
		if rec.phase == p {
			keys = append(keys, rec.key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Compare(a.String(), b.String()) })
	return keys
}

// maxPanicked bounds the time series of keys that panic.
const maxPanicked = 100

// queueState returns what waits, for the metrics.
func (c *Controller) queueState() queueState {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, now := queueState{depth: c.queue.Len()}, c.clock.now()
	for _, rec := range c.records {
		if _, panicked := errors.AsType[*recovery.PanicError](rec.err); panicked && len(out.panicked) < maxPanicked {
			out.panicked = append(out.panicked, rec.key)
		}
		switch rec.phase {
		case resting:
			out.rest++
		case queued:
			out.oldest = max(out.oldest, now-rec.queuedAt)
		case idle, behind, running, waiting, retrying:
		}
	}
	return out
}
