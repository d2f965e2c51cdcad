package rollout

import (
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
)

// findFailedOrdinals finds the wanted ordinals whose task of the target ended by itself, and the failure to report: a
// live one that used up its chance, or else an ended one, the lowest first.
func (o *ordered) findFailedOrdinals() {
	for n, s := range o.places {
		switch {
		case s == nil || !o.thawed(n) || !o.current(s):
		case s.live() && o.failure == nil && o.failing(s):
			o.failure = s
		case !s.live() && s.failed():
			o.unfilled = append(o.unfilled, s)
		}
	}
	if o.failure == nil && len(o.unfilled) > 0 {
		o.failure = o.unfilled[0]
	}
}

// unprovenOrdinal returns an ordinal on another attempt of the target after one that failed, until it is good.
func (o *ordered) unprovenOrdinal() *Slot {
	for n, s := range o.places {
		if s == nil || s.Lost || !o.thawed(n) || !o.current(s) {
			continue
		}
		if s.live() && s.Attempt > 1 && !o.good(s) || !s.live() && s.NextAttempt > 1 {
			return s
		}
	}
	return nil
}

// heldOrdered reports whether a failure of the target, or another attempt after one, stops the rollout where it is; or
// that no node can run the target.
func (o *ordered) heldOrdered() bool {
	return o.desired.Missing.Message != "" ||
		o.desired.Strategy.OnFailure != api.OnFailureContinue && (o.failure != nil || o.unprovenOrdinal() != nil)
}

// afterEnd returns the number of the attempt that follows a task that has ended. After one that lasted, or whose node
// is off, the count starts over.
func (o *ordered) afterEnd(s *Slot) int {
	if s.Off || ranLong(s) {
		return 1
	}
	return max(s.Attempt, 1) + 1
}

// orderedBackoff returns the wait before an attempt: 1 s before the first after a task that lasted and before the
// second, then twice as long each time, up to 5 min.
func orderedBackoff(attempt int) time.Duration {
	wait := minBackoff
	for range attempt - 2 {
		if wait *= 2; wait >= maxBackoff {
			return maxBackoff
		}
	}
	return wait
}

// summarizeOrdered returns the summary of the state, before the plan's actions.
func (o *ordered) summarizeOrdered() Plan {
	plan := o.plan()
	if o.failure != nil {
		return o.failedPlan(plan, o.failure)
	}
	if s := o.unprovenOrdinal(); s != nil {
		plan = o.failedPlan(plan, s)
		plan.Reason, plan.Next = "SlotFailed", ""
		plan.Message = fmt.Sprintf("attempt %d is not ready yet", max(s.Attempt, s.NextAttempt))
		if failed := o.lastFailure(s); failed != nil { // the next try proves nothing before it is good
			plan.Reason, plan.Message, plan.Next = failed.Reason, failed.Message, failed.Next
		}
		return plan
	}
	complete := !o.shrinks() && len(o.stopped) == 0 && o.complete(plan.Counts) // an ordinal to recreate is still up
	return o.soundPlan(plan, complete)
}

// shrinks reports whether a surplus ordinal has yet to go. Nothing but its node can clear one that is lost, or whose
// node is off.
func (o *ordered) shrinks() bool {
	return slices.ContainsFunc(o.surplus, func(s *Slot) bool { return !s.Lost && !s.Away })
}
