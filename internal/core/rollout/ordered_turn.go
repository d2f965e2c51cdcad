package rollout

import "tend.dev/tend/api"

// replaceBroken replaces all outdated ordinals that serve no requests and never did: nothing is lost by it, and a bad
// rollout can always be superseded.
func (o *ordered) replaceBroken() {
	for _, s := range o.outdatedOrdinals() {
		if s.broken() {
			o.retire(s, o.why(s), 1)
		}
	}
}

// turn replaces the other outdated ordinals from the top, ordinal 0 last. Each waits until all that are on their way
// have settled and the pause has passed. None is replaced while the target fails.
func (o *ordered) turn() {
	free, held := o.freeTurns(), o.heldOrdered()
	for _, s := range o.outdatedOrdinals() {
		switch {
		case o.desired.Superseded && s.Version.Release != o.desired.Target.Release:
			// it would be replaced twice; a restart of the same release goes on
		case held:
			// a failure of the target holds what still serves
		case free > 0:
			free--
			o.retire(s, o.why(s), 1)
		}
	}
}

// outdatedOrdinals returns the live ones that run something other than the target, the highest first.
func (o *ordered) outdatedOrdinals() []*Slot {
	var out []*Slot
	for n := len(o.places) - 1; n >= 0; n-- {
		s := o.places[n]
		if s != nil && s.live() && !o.current(s) && !o.stopped[s.ID] && o.thawed(n) {
			out = append(out, s)
		}
	}
	return out
}

// freeTurns returns how many ordinals may be stopped for their replacement now.
func (o *ordered) freeTurns() int {
	free := o.desired.Strategy.MaxParallel - o.created
	for _, s := range o.surplus {
		if !s.stopped() {
			free--
		}
	}
	for n, s := range o.places {
		if s != nil && o.thawed(n) && o.onItsWay(s) {
			free--
		}
	}
	return free
}

// onItsWay reports whether the ordinal is down for its replacement, or its task of the target has not settled. A failed
// task of the target counts unless on_failure is continue, and a lost one of any version does, since it may be down. An
// ordinal that waits for those below does not count: replacing others may be what lets it come up.
func (o *ordered) onItsWay(s *Slot) bool {
	switch {
	case o.stopped[s.ID]:
		return true
	case s.live():
		return s.Lost || o.current(s) && o.inLane(s)
	case s.failed() && o.current(s):
		return o.desired.Strategy.OnFailure != api.OnFailureContinue
	}
	return s.NextAttempt > 0 || s.wanted()
}
