package rollout

import (
	"fmt"

	"tend.dev/tend/api"
)

// summarize says what the state amounts to.
func (p *picture) summarize(plan *Plan) {
	p.count(plan)
	wanted := p.wanted()
	failure, failed := p.firstFailure()
	switch {
	case failed:
		plan.Phase = api.RolloutPaused
		if p.desired.Strategy.OnFailure == api.OnFailureContinue {
			plan.Phase = api.RolloutProgressing
		}
		plan.Reason, plan.Message = explain(failure)
	case plan.Counts.Updated == wanted && plan.Counts.Outdated == 0 && len(p.places(nil)) == wanted:
		plan.Phase = api.RolloutComplete
		plan.Reason, plan.Message = "Complete", fmt.Sprintf("%d of %d slots run %s", wanted, wanted, p.desired.Target.Release)
	default:
		plan.Phase = api.RolloutProgressing
		plan.Reason = "Progressing"
		plan.Message = fmt.Sprintf("%d of %d slots run %s and are good", min(plan.Counts.Updated, wanted), wanted, p.desired.Target.Release)
		if unplaceable, ok := p.unplaceable(); ok {
			plan.Reason, plan.Message = "NoNode", fmt.Sprintf("slot %s: %s", unplaceable.ID, unplaceable.Message)
		}
	}
}

func (p *picture) count(plan *Plan) {
	c := &plan.Counts
	c.Frozen = len(p.desired.Frozen)
	for _, s := range p.live {
		if s.State == api.TaskRunning {
			c.Running++
		}
		if s.State == api.TaskRunning && s.Ready {
			c.Ready++
		}
		switch {
		case !p.current(s):
			c.Outdated++
		case p.good(s):
			c.Updated++
		case p.failing(s):
			c.Failing++
		}
	}
	for _, s := range p.unfilledFailures() {
		if p.current(s) {
			c.Failing++
		}
	}
}

func (p *picture) unplaceable() (Slot, bool) {
	for _, s := range p.live {
		if s.Unplaceable {
			return s, true
		}
	}
	return Slot{}, false
}
