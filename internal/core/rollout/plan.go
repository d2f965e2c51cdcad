package rollout

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// Decide compares what should be with what is and returns the next actions. It is the whole of a rollout: scaling,
// replacing, healing, collecting and deleting are one decision over the same slots.
func Decide(desired Desired, slots []Slot, now time.Time) Plan {
	p := observe(desired, slots, now)
	if desired.Deleting {
		return p.deletion()
	}
	if back, ok := p.rollBack(); ok {
		return back
	}
	plan := Plan{}
	stopped := map[string]bool{}
	add := func(actions ...Action) {
		for _, a := range actions {
			if a.Verb == Shutdown {
				stopped[a.Slot] = true
			}
			plan.Actions = append(plan.Actions, a)
		}
	}
	add(p.freeze()...)
	add(p.endPairs(stopped)...)
	add(p.scale(stopped)...)
	add(p.replace(stopped)...)
	add(p.collect()...)
	p.summarize(&plan)
	if !p.due.IsZero() {
		plan.After = max(p.due.Sub(now), time.Millisecond)
	}
	return plan
}

// freeze stops live slots that an operator froze.
func (p *picture) freeze() []Action {
	var out []Action
	for _, s := range p.live {
		if p.desired.Frozen[s.ID] {
			out = append(out, shutdown(s, "frozen by an operator"))
		}
	}
	return out
}

// endPairs finishes start-first replacements: the old slot goes when its successor is settled, the successor goes when
// it is itself outdated.
func (p *picture) endPairs(stopped map[string]bool) []Action {
	var out []Action
	for _, old := range p.live {
		next, paired := p.successor[old.ID]
		if !paired || stopped[old.ID] || stopped[next.ID] {
			continue
		}
		switch {
		case !p.current(next):
			out = append(out, shutdown(next, "superseded by "+p.desired.Target.Release))
		case p.current(old):
			out = append(out, shutdown(next, "no longer needed"))
		case p.settled(next):
			out = append(out, shutdown(old, "replaced by slot "+next.ID))
		case p.broken(old):
			out = append(out, shutdown(old, "outdated and not running"))
		case next.Unplaceable:
			out = append(out, shutdown(old, "no room for its successor beside it"))
		}
	}
	return out
}

// places are the live slots that count towards the replicas: a pair counts once, for its older half.
func (p *picture) places(stopped map[string]bool) []Slot {
	var out []Slot
	for _, s := range p.live {
		old, hasOld := p.byID[s.Replaces]
		successor := hasOld && old.live() && !stopped[old.ID]
		if !stopped[s.ID] && !successor {
			out = append(out, s)
		}
	}
	return out
}

func (p *picture) deletion() Plan {
	plan := Plan{Phase: api.RolloutProgressing, Reason: "Deleting", Message: "its tasks are being stopped"}
	for _, s := range p.live {
		plan.Actions = append(plan.Actions, shutdown(s, "the object is being deleted"))
	}
	for _, s := range p.ended {
		plan.Actions = append(plan.Actions, clear(s, "the object is being deleted")...)
	}
	return plan
}

// rollBack gives up the target where the strategy says so: something failed, and there is a good release to return to.
func (p *picture) rollBack() (Plan, bool) {
	d := p.desired
	if d.Strategy.OnFailure != api.OnFailureRollback || d.LastGood == "" || d.LastGood == d.Target.Release {
		return Plan{}, false
	}
	failure, failed := p.firstFailure()
	if !failed {
		return Plan{}, false
	}
	reason, message := explain(failure)
	back := Action{Verb: RollBack, Slot: failure.ID, Task: failure.Task, Version: Version{Release: d.LastGood, Restart: d.Target.Restart}, Reason: message}
	plan := Plan{Actions: []Action{back}, Phase: api.RolloutRollingBack, Reason: reason, Message: message}
	p.count(&plan)
	return plan, true
}

// firstFailure finds a slot of the target that used up its chance.
func (p *picture) firstFailure() (Slot, bool) {
	for _, s := range p.live {
		if p.current(s) && p.failing(s) {
			return s, true
		}
	}
	for _, s := range p.unfilledFailures() {
		if p.current(s) {
			return s, true
		}
	}
	return Slot{}, false
}

// unfilledFailures are the failures whose place is still wanted and waits to be filled or succeeded again.
func (p *picture) unfilledFailures() []Slot {
	places := p.places(nil)
	out := p.vacancies(p.wanted() - len(places))
	for _, place := range places {
		if failed, ok := p.failedSuccessor(place); ok && !p.current(place) {
			out = append(out, failed)
		}
	}
	return out
}

func explain(s Slot) (reason, message string) {
	reason = s.Reason
	switch {
	case s.CrashLoop:
		reason = "CrashLoop"
	case s.live():
		reason = "DeadlineExceeded"
	case reason == "":
		reason = "SlotFailed"
	}
	detail := s.Message
	if detail == "" {
		detail = "it did not become good in time"
	}
	return reason, fmt.Sprintf("slot %s of %s: %s", s.ID, s.Version.Release, detail)
}

func shutdown(s Slot, reason string) Action {
	return Action{Verb: Shutdown, Slot: s.ID, Task: s.Task, Version: s.Version, Reason: reason}
}

// clear is the next step of taking away what is left of an ended slot.
func clear(s Slot, reason string) []Action {
	act := func(verb Verb) []Action {
		return []Action{{Verb: verb, Slot: s.ID, Task: s.Task, Version: s.Version, Reason: reason}}
	}
	switch {
	case !s.Placed && s.Desired != api.DesiredRunning:
		return act(Forget) // no agent ever saw it
	case s.Desired == api.DesiredRemoved:
		if s.Observed {
			return nil // its agent is at it
		}
		return act(Forget)
	case s.State.Terminal():
		return act(Remove)
	}
	return nil // it is still stopping
}
