package rollout

import (
	"cmp"
	"fmt"
	"slices"

	"tend.dev/tend/api"
)

// replace turns outdated places to the target. A broken one is replaced at once, since nothing is lost by it: a bad
// rollout can always be superseded. The others take turns: max_parallel lanes, each taken until the new slot has
// settled and the pause has passed.
func (p *picture) replace(stopped map[string]bool) []Action {
	var out []Action
	free, held := p.freeLanes(), p.held()
	for _, s := range p.outdated(stopped) {
		failed, before := p.failedSuccessor(s)
		switch {
		case before && p.waits(failed):
			// its last successor failed: not before the backoff has passed
		case p.broken(s):
			out = append(out, p.stopFirst(s)...)
		case held && !before:
			// a failure of the target holds what still serves
		case free > 0:
			free--
			out = append(out, p.succeed(s)...)
		}
	}
	return out
}

// outdated are the places that run something else than the target and have no successor yet, the broken ones first.
func (p *picture) outdated(stopped map[string]bool) []Slot {
	var out []Slot
	for _, s := range p.places(stopped) {
		if _, paired := p.successor[s.ID]; !p.current(s) && !paired {
			out = append(out, s)
		}
	}
	rank := func(s Slot) int {
		if p.broken(s) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b Slot) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// held says whether a failure of the target, or a second try after one, stops the rollout where it stands.
func (p *picture) held() bool {
	if p.desired.Strategy.OnFailure == api.OnFailureContinue {
		return false
	}
	if _, failed := p.firstFailure(); failed {
		return true
	}
	return slices.ContainsFunc(p.live, func(s Slot) bool {
		_, again := p.attemptBefore(s)
		return again && p.current(s) && !p.good(s)
	})
}

// freeLanes is how many replacements may begin now.
func (p *picture) freeLanes() int {
	free := p.desired.Strategy.MaxParallel
	for _, s := range p.live {
		if s.Replaces == "" || !p.current(s) {
			continue
		}
		switch {
		case p.settled(s):
			if !p.passed(p.settledAt(s), p.desired.Strategy.Pause) {
				free--
			}
		case p.failing(s) && p.desired.Strategy.OnFailure == api.OnFailureContinue:
			// given up on: its lane is free again
		default:
			free--
		}
	}
	return free
}

// succeed begins the replacement of a slot in the strategy's order.
func (p *picture) succeed(s Slot) []Action {
	if p.desired.Strategy.Order == api.OrderStopFirst {
		return p.stopFirst(s)
	}
	return []Action{{Verb: Create, Version: p.desired.Target, Replaces: s.ID, Reason: p.why(s)}}
}

// stopFirst stops a slot and creates the one that starts when it has stopped, in one step: a crash can't lose the place.
func (p *picture) stopFirst(s Slot) []Action {
	return []Action{
		shutdown(s, p.why(s)),
		{Verb: Create, Version: p.desired.Target, Replaces: s.ID, After: s.Task, Reason: p.why(s)},
	}
}

func (p *picture) why(s Slot) string {
	if s.Version.Release == p.desired.Target.Release {
		return "restart"
	}
	return fmt.Sprintf("%s replaces %s", p.desired.Target.Release, s.Version.Release)
}
