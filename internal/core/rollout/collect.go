package rollout

import "tend.dev/tend/api"

// Ended begins the reason of a stop that follows the end of a task.
const Ended = "ended: "

// collect removes what is left of ended slots: those that were stopped at once, those that failed beyond the newest
// KeepDead. The remains of a frozen slot stay, as do those that a backoff is still computed from.
func (p *planner) collect() {
	kept, needed := 0, p.needed()
	for _, s := range p.ended {
		keep := needed[s.ID] || p.frozen[s.ID]
		if s.failed() && s.Desired != api.DesiredRemoved && kept < p.desired.KeepDead {
			kept++
			keep = true
		}
		switch {
		case s.wanted():
			p.stop(s, Ended+s.end()) // one step at a time: a desired state rises once per plan
		case !keep:
			p.clear(s, "")
		}
	}
}

// needed returns the dead slots that a backoff, or the hold on a rollout, is computed from: until the next attempt has
// run so long that its own end would start the backoff over.
func (p *planner) needed() map[string]bool {
	out := map[string]bool{}
	for _, failed := range p.unfilled {
		out[failed.ID] = true
		if before := p.tryBefore(failed); before != nil {
			out[before.ID] = true
		}
	}
	for _, s := range p.live {
		before := p.tryBefore(s)
		if before != nil && (s.RunningAt.IsZero() || !p.passed(s.RunningAt, maxBackoff)) {
			out[before.ID] = true
		}
	}
	return out
}

// clear takes the next step of removing what is left of an ended slot; there is none while its agent works on the last
// step.
func (p *planner) clear(s *Slot, reason string) {
	act := func(verb Verb) {
		p.actions = append(p.actions, Action{Verb: verb, Slot: s.ID, Task: s.Task, Version: s.Version, Reason: reason})
	}
	gone := !s.Placed || s.Desired == api.DesiredRemoved && !s.Observed
	switch {
	case !s.wanted() && gone:
		act(Forget)
	case s.State.Terminal() && s.Desired != api.DesiredRemoved:
		act(Remove)
	}
}

// deletion stops and forgets everything, including frozen and kept slots.
func (p *planner) deletion() {
	for _, s := range p.live {
		p.stop(s, api.ReasonDeleted)
	}
	for _, s := range p.ended {
		p.clear(s, api.ReasonDeleted)
	}
}
