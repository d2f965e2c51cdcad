package rollout

import (
	"cmp"
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// summarize returns the summary of the state, before the plan's actions.
func (p *planner) summarize() Plan {
	plan := p.plan()
	failure := p.failure
	if failure == nil {
		failure = p.unproven()
	}
	if failure != nil {
		return p.failedPlan(plan, failure)
	}
	return p.soundPlan(plan, p.complete(plan.Counts))
}

// failedPlan returns the plan after a failure of the target.
func (p *planner) failedPlan(plan Plan, failure *Slot) Plan {
	plan.Phase = api.RolloutPaused
	if p.desired.Strategy.OnFailure == api.OnFailureContinue {
		plan.Phase = api.RolloutProgressing
	}
	return p.blame(plan, failure)
}

// blame writes a failure into a plan.
func (p *planner) blame(plan Plan, failure *Slot) Plan {
	plan.Reason, plan.Message = p.explain(failure)
	plan.Slot, plan.Next = failure.ID, failure.Next
	return plan
}

// soundPlan returns the plan while nothing fails.
func (p *planner) soundPlan(plan Plan, complete bool) Plan {
	wanted := p.wanted()
	switch {
	case complete:
		plan.Phase = api.RolloutComplete
		plan.Reason, plan.Message = "Complete", fmt.Sprintf("%d of %d pods run %s", wanted, wanted, p.desired.Target.Release)
		plan.Stays = p.stays()
	default:
		plan.Phase = api.RolloutProgressing
		plan.Reason, plan.Message, plan.Next = p.progress(plan.Counts, wanted)
		if s := p.obstructed; s != nil {
			plan.Slot, plan.Reason, plan.Message, plan.Next = s.ID, s.Reason, s.Message, s.Next
		}
	}
	return plan
}

// passingFault is the time for which a step towards a running container may fail before a person is to know: the first
// tries are 1 s, 2 s and 4 s apart, and most of what they meet is gone by then.
const passingFault = 10 * time.Second

// findObstructed returns the first slot of the target that has been failing to start for longer than passingFault, or
// that a person has to let go on. The former is tried until its deadline.
func (p *planner) findObstructed() *Slot {
	for _, s := range p.live {
		switch {
		case !p.current(s) || s.Lost || p.iced[s.ID]:
		case s.suspended():
			return s
		case !s.FailingSince.IsZero() && p.passed(s.FailingSince, passingFault):
			return s
		}
	}
	return nil
}

// stays returns why the first slot that should move to another node does not.
func (p *planner) stays() string {
	for _, s := range p.live {
		if s.Misplaced != "" && !p.moves(s) {
			return s.Stays
		}
	}
	return ""
}

// complete reports whether the live slots are exactly the wanted ones, and all are good.
func (p *planner) complete(c Counts) bool {
	return len(p.live) == p.wanted() && c.Updated == p.wanted()
}

func (p *planner) progress(c Counts, wanted int) (reason, message, next string) {
	if missing := p.desired.Missing; missing.Message != "" {
		return api.ReasonNoRuntime, missing.Message, missing.Next
	}
	if s := p.awaitedLost(); s != nil {
		return s.Reason, s.Message, s.Next
	}
	for _, s := range p.live {
		switch {
		case !s.Unplaceable || s.Version != p.desired.Target: // that of an earlier try goes
		case s.Crowded:
			return "NoSurge", "a new pod does not fit beside the one it replaces, which stops first", ""
		default:
			return cmp.Or(s.Reason, api.ReasonNoNode), s.Message, s.Next
		}
	}
	message = fmt.Sprintf("%d of %d pods run %s", min(c.Arrived, wanted), wanted, p.desired.Target.Release)
	for _, s := range p.live {
		if s.Version == p.desired.Target && p.moves(s) {
			return "Progressing", message + " where they should: " + s.Misplaced, ""
		}
	}
	switch s := p.waitedFor(); {
	case s != nil && s.Message != "":
		message, next = message+": "+s.Message, s.Next
	case s != nil:
		message += ": " + p.again(s)
	case c.Arrived-c.Updated == 1:
		message += fmt.Sprintf(": 1 ready pod is watched for %s (strategy.monitor)", p.desired.Strategy.Monitor)
	case c.Arrived > c.Updated:
		message += fmt.Sprintf(": %d ready pods are watched for %s (strategy.monitor)", c.Arrived-c.Updated, p.desired.Strategy.Monitor)
	}
	return "Progressing", message, next
}

// again returns how a pod ended that runs again, and how long it has to stay up.
func (p *planner) again(s *Slot) string {
	ended := "a pod ended lately"
	if s.LastEnd != "" {
		ended = "a pod ended (" + s.LastEnd + ") and runs again"
	}
	up := max(s.Apart, p.desired.Strategy.Monitor)
	if up >= time.Second {
		up = up.Round(time.Second)
	}
	return fmt.Sprintf("%s; it has to stay up for longer than %s", ended, up)
}

// waitedFor returns the first slot of the target that runs or should start, isn't ready and says why; or else one that
// ended lately.
func (p *planner) waitedFor() *Slot {
	var ended *Slot
	for _, s := range p.live {
		switch {
		case !p.current(s) || s.Lost || s.State != api.TaskRunning && s.FailingSince.IsZero():
		case !s.Ready && s.Message != "":
			return s
		case ended == nil && (s.Apart > 0 || s.LastEnd != "") && s.Monitored && !s.Steady:
			ended = s
		}
	}
	return ended
}

func (p *planner) count() Counts {
	c := Counts{Wanted: p.wanted(), Frozen: len(p.frozen)}
	for _, s := range p.live {
		if s.Lost {
			c.Lost++
		} else if s.State == api.TaskRunning && !s.CrashLoop {
			c.Running++
		}
		if s.serves() {
			c.Ready++
			if p.current(s) {
				c.Arrived++
			}
		}
		switch {
		case !p.current(s):
			c.Outdated++
		case p.good(s):
			c.Updated++
		case p.failing(s):
			c.Failing++
		case s.ReadyAt.IsZero() && !s.Lost:
			c.Starting++
		}
	}
	for _, s := range p.unfilled {
		if p.current(s) {
			c.Failing++
		}
	}
	return c
}

func (p *planner) deleting() Plan {
	plan := p.plan()
	plan.Phase, plan.Reason, plan.Message = api.RolloutProgressing, "Deleting", "its pods are being stopped"
	if len(p.byID) == 0 {
		plan.Phase, plan.Message = api.RolloutComplete, "nothing is left of it"
	}
	return plan
}

func (p *planner) rollingBack() Plan {
	plan := p.plan()
	plan.Phase = api.RolloutRollingBack
	return p.blame(plan, p.failure)
}
