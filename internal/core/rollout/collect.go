package rollout

import "tend.dev/tend/api"

// collect takes away what is left of ended slots: those that were told to stop at once, those that failed beyond the
// newest KeepDead. What a frozen slot left stays; so does what a backoff is still read from.
func (p *picture) collect() {
	kept, needed := 0, p.needed()
	for _, s := range p.ended {
		keep := needed[s.ID] || p.frozen[s.ID]
		if s.failed() && s.Desired != api.DesiredRemoved && kept < p.desired.KeepDead {
			kept++
			keep = true
		}
		switch {
		case s.wanted():
			p.stop(s, "ended: "+string(s.State)) // one step at a time: a desired state rises once a plan
		case !keep:
			p.clear(s, "")
		}
	}
}

// needed are the dead slots that a backoff, or the hold on a rollout, is read from: until the next try has run so long
// that its own end would start the backoff over.
func (p *picture) needed() map[string]bool {
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

// clear takes the next step of removing what is left of an ended slot; while its agent is at it there is none.
func (p *picture) clear(s *Slot, reason string) {
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

// deletion stops everything and forgets it, frozen and kept slots too.
func (p *picture) deletion() {
	const reason = "the object is being deleted"
	for _, s := range p.live {
		p.stop(s, reason)
	}
	for _, s := range p.ended {
		p.clear(s, reason)
	}
}
