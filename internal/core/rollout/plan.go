package rollout

import "time"

// Decide compares what should be with what is and returns the next actions. It is the whole of a rollout: scaling,
// replacing, healing, collecting and deleting are one decision over the same slots.
func Decide(desired Desired, slots []Slot, now time.Time) Plan {
	if desired.Ordered {
		return decideOrdered(desired, slots, now, false)
	}
	p := observe(desired, slots, now)
	switch {
	case desired.Deleting:
		p.deletion()
		return p.deleting()
	case p.rollBack():
		return p.rollingBack()
	}
	p.freeze()
	p.endPairs()
	p.scale()
	p.replace()
	p.collect()
	return p.summarize()
}

// plan is what the rules wrote, with the moment to look again.
func (p *picture) plan() Plan {
	plan := Plan{Actions: p.actions, Counts: p.count()}
	if !p.due.IsZero() {
		plan.After = p.due.Sub(p.now)
	}
	return plan
}
