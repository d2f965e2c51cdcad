package rollout

import (
	"fmt"
	"strconv"

	"tend.dev/tend/api"
)

// renew stops the ordinals whose volumes are to be emptied. That request waits for no rollout.
func (o *ordered) renew() {
	for n, s := range o.places {
		if s != nil && s.Rebootstrap && s.live() && o.thawed(n) {
			o.retire(s, "made again on request", 1)
		}
	}
}

// fill creates a task for every ordinal that has none, from the bottom. An ordinal that never existed, or was scaled
// down or frozen before, comes up once every ordinal below is up. One that failed, or was stopped to be replaced,
// comes back without waiting: those below may need it to become ready again.
func (o *ordered) fill() {
	below := true // every ordinal below is up, or can't answer
	for n, s := range o.places {
		switch {
		case !o.thawed(n):
			o.rest(s)
			continue
		case s == nil && (below || o.atOnce):
			o.createOrdinal(n, nil)
		case s != nil && !s.live():
			o.refill(n, s, below || o.atOnce)
		}
		below = below && s != nil && (s.live() && !o.stopped[s.ID] && o.up(s) || o.unreachable(s))
	}
}

// unreachable reports whether an ordinal that had come up is on a node that doesn't answer. Those above don't wait for
// it: it may never answer.
func (o *ordered) unreachable(s *Slot) bool {
	return (s.Lost || s.Away) && (!s.ReadyAt.IsZero() || o.heedless() && !s.RunningAt.IsZero())
}

// rest keeps what a frozen ordinal left behind, for inspection.
func (o *ordered) rest(s *Slot) {
	if s != nil && s.State.Terminal() && s.wanted() {
		o.stop(s, Ended+s.end())
	}
}

// refill takes the next step from an ended ordinal to its next task.
func (o *ordered) refill(n int, s *Slot, below bool) {
	switch {
	case s.wanted():
		o.collectOrdinal(s)
	case o.backsOff(s):
		// its container stays for inspection until the next attempt
	case !gone(s):
		o.clear(s, "")
	case below || s.NextAttempt > 0:
		o.createOrdinal(n, s)
	default:
		o.clear(s, "")
	}
}

func (o *ordered) createOrdinal(n int, before *Slot) {
	a := Action{Verb: Create, Slot: strconv.Itoa(n), Version: o.desired.Target, Attempt: 1,
		Monitor: o.monitorAfter(before)}
	if before != nil {
		a.Task = before.Task
		if o.current(before) && !before.Rebootstrap {
			a.Attempt = max(before.NextAttempt, 1)
		}
		if a.Attempt > 1 {
			a.Reason, a.Failed = fmt.Sprintf("attempt %d", a.Attempt), o.lastFailure(before)
		}
	}
	o.created++
	o.actions = append(o.actions, a)
}

// backsOff reports whether a failed ordinal must still wait. A new version, or a rebootstrap, is tried at once.
func (o *ordered) backsOff(s *Slot) bool {
	return s.failed() && o.current(s) && !s.Rebootstrap && s.Desired != api.DesiredRemoved &&
		!o.passed(s.EndedAt, orderedBackoff(s.NextAttempt))
}
