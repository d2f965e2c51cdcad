package rollout

import "time"

// Decide compares the desired with the observed state and returns the next actions. It covers the whole of a rollout:
// scaling, replacing, healing, collecting and deleting are one decision over the same slots.
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
	p.replaceLost()
	p.replace()
	p.collect()
	return p.summarize()
}

// plan returns the plan that the rules wrote, with the time to decide again.
func (p *planner) plan() Plan {
	p.obstructed = p.findObstructed()
	plan := Plan{Actions: p.actions, Counts: p.count()}
	if !p.due.IsZero() {
		plan.After = p.due.Sub(p.now)
	}
	for _, s := range p.live {
		if s.Misplaced != "" && !p.moves(s) && !s.Lost {
			plan.Staying = append(plan.Staying, s.ID)
		}
	}
	return plan
}
