package rollout

import (
	"cmp"
	"fmt"
	"slices"

	"tend.dev/tend/api"
)

// replace moves outdated places to the target. A broken one is replaced at once, since nothing is lost by it: a bad
// rollout can always be superseded. The others take turns: max_parallel lanes, each taken until the new slot has
// settled (which takes the monitor time) and the pause has passed, and none of them while the target fails.
func (p *planner) replace() {
	outdated := p.outdated()
	if len(outdated) == 0 {
		return
	}
	free, held := p.freeLanes(), p.held()
	for _, s := range outdated {
		failed := p.retry[s.ID]
		switch {
		case failed != nil && p.waits(failed):
			// its last successor failed: not before the backoff has passed
		case s.broken():
			free--
			p.stopFirst(s)
		case s.Lost:
			// it waits for its node, or for another one that takes its successor
		case p.desired.Superseded && s.Version.Release != p.desired.Target.Release:
			// it would be replaced twice; a restart of the same release goes on
		case held && failed == nil:
			// a failure of the target holds what still serves
		case free > 0:
			free--
			p.succeed(s)
		}
	}
}

// outdated returns the places that run something other than the target and have no successor yet: the broken ones
// first, then those that don't serve now, then those that have not proved themselves, then the oldest.
func (p *planner) outdated() []*Slot {
	var out []*Slot
	for _, s := range p.places() {
		if !p.current(s) && p.successor[s.ID] == nil {
			out = append(out, s)
		}
	}
	rank := func(s *Slot) int {
		switch {
		case s.broken():
			return 0
		case !s.serves():
			return 1
		case !p.steady(s):
			return 2
		}
		return 3
	}
	slices.SortStableFunc(out, func(a, b *Slot) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// held reports whether a failure of the target, or another attempt after one, stops the rollout where it is; or that no
// node can run the target.
func (p *planner) held() bool {
	return p.desired.Missing.Message != "" ||
		p.desired.Strategy.OnFailure != api.OnFailureContinue && (p.failure != nil || p.unproven() != nil)
}

// freeLanes returns how many replacements may begin now. Every slot of the target that has not settled takes a lane,
// including one that a scale or a failure brings in: an unproven slot takes precedence over replacing one that serves.
// A lost one takes none, since its node may answer at any time or never.
func (p *planner) freeLanes() int {
	free := p.desired.Strategy.MaxParallel - p.created
	for _, s := range p.live {
		if p.current(s) && !p.stopped[s.ID] && !s.Lost && p.inLane(s) {
			free--
		}
	}
	return free
}

func (p *planner) inLane(s *Slot) bool {
	if p.settled(s) {
		return !p.passed(p.upAt(s), p.desired.Strategy.Pause) // it runs beside the monitor time
	}
	givenUp := s.CrashLoop || p.overdue(s.CreatedAt)
	return !(givenUp && p.desired.Strategy.OnFailure == api.OnFailureContinue)
}

// succeed begins the replacement of a slot in the strategy's order.
func (p *planner) succeed(s *Slot) {
	if p.desired.Strategy.Order == api.OrderStopFirst {
		p.stopFirst(s)
		return
	}
	p.create(s.ID, "", p.why(s))
}

// stopFirst stops a slot and creates the one that starts when it has stopped, in one step: a crash can't lose the
// place.
func (p *planner) stopFirst(s *Slot) {
	p.stop(s, p.why(s))
	p.create(s.ID, p.lastToStop(s), p.why(s))
}

// lastToStop returns the task whose container must be gone before that of a slot's successor starts: the slot's own. If
// the slot itself still waits for another task to stop, and so never started, it is that task.
func (p *planner) lastToStop(s *Slot) string {
	if p.waiting(s) {
		return s.After
	}
	if !s.Placed {
		return ""
	}
	return s.Task
}

// waiting reports whether the slot can't have started, since the task it comes after has not stopped.
func (p *planner) waiting(s *Slot) bool {
	return s.After != "" && p.unstopped[s.After] != nil
}

func (p *planner) why(s *Slot) string {
	if s.Version == p.desired.Target {
		return s.Misplaced
	}
	switch s.Version.Release {
	case p.desired.Target.Release:
		return "restart"
	case "":
		return "tried again"
	}
	return fmt.Sprintf("%s replaces %s", p.desired.Target.Release, s.Version.Release)
}
