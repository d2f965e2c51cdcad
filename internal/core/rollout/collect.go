package rollout

import "tend.dev/tend/api"

// collect takes away what is left of ended slots: those that were told to stop at once, those that failed beyond the
// newest KeepDead. What a frozen slot left stays; so does what a backoff is still read from.
func (p *picture) collect() []Action {
	needed := map[string]bool{}
	for _, failed := range p.unfilledFailures() {
		needed[failed.ID] = true
		if before, ok := p.attemptBefore(failed); ok {
			needed[before.ID] = true
		}
	}
	for _, s := range p.live {
		if before, ok := p.attemptBefore(s); ok && !p.good(s) {
			needed[before.ID] = true
		}
	}
	var out []Action
	kept := 0
	for _, s := range p.ended {
		if s.failed() && s.Desired != api.DesiredRemoved && kept < p.desired.KeepDead {
			kept++
			needed[s.ID] = true
		}
		if given := p.giveUp(s); len(given) > 0 {
			out = append(out, given...) // one step at a time: the desired state rises once a plan
			continue
		}
		if !needed[s.ID] && !p.desired.Frozen[s.ID] {
			out = append(out, clear(s, "")...)
		}
	}
	return out
}

// giveUp tells the task of a slot that ended by itself that it is no longer wanted.
func (p *picture) giveUp(s Slot) []Action {
	if s.Desired != api.DesiredRunning && s.Desired != "" {
		return nil
	}
	return []Action{shutdown(s, "ended: "+string(s.State))}
}
