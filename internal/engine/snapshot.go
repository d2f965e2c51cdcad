package engine

import (
	"cmp"
	"slices"
	"time"
)

// State is what a controller is up to, for debugging and tests. Lists are sorted by key.
type State struct {
	Queued  []KeyState
	Running []KeyState
	// Behind wait for the view to show what they committed.
	Behind []KeyState
	// Waiting asked for another look at Next.
	Waiting []KeyState
	// Retrying failed and are tried again at Next.
	Retrying []KeyState
	// Resting failed too often or terminally; only an event or a full look wakes them.
	Resting []KeyState
}

// KeyState is where one key stands.
type KeyState struct {
	Key Key
	// Next is when it is looked at by itself; zero where no time is set.
	Next time.Time
	// Failures in a row, and the last one's error.
	Failures int
	Err      error
	Terminal bool
	// Revision the view must reach before the next look.
	Revision int64
}

// Snapshot returns what the controller is up to.
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

// nextLocked is the wall time of a key's next look, as far as the clock isn't set meanwhile.
func (c *Controller) nextLocked(rec *record) time.Time {
	if rec.look == nil {
		return time.Time{}
	}
	return time.Now().Add(rec.look.due - c.clock.now()).Round(0)
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

// counts are the gauges: keys in the queue and keys at rest.
func (c *Controller) counts() (depth, rest int) {
	return c.queue.Len(), len(c.keysIn(resting))
}
