package change

import (
	"strings"

	"tend.dev/tend/api"
)

// outcomes returns what the write of a status records as the end of something: that the object is as it should be, or
// that something failed.
func outcomes(about api.EventData, before, after status) []Event {
	about.Conditions = nil
	var out []Event
	if reason, message, failed := after.failure(); failed {
		was, _, failedBefore := before.failure()
		if !failedBefore || was != reason || after.failsAgain(before, about.Kind) || after.givesUp(before) {
			about.Reason, about.Message = Cut(reason, maxPath), line(message)
			out = append(out, Event{api.EventFailed, about})
		}
		return out
	}
	if about.Kind.TimeBoxed() && after.Phase != before.Phase && api.LabPhase(after.Phase).Ended() {
		about.Reason, about.Message = Cut(after.Reason, maxPath), line(after.Message)
		return []Event{{api.EventReconciled, about}}
	}
	fresh := before.ObservedGeneration != after.ObservedGeneration || after.isOfAnother(before, about.Kind) ||
		before.run() != after.run() && after.LastState == string(api.RunSucceeded)
	if after.settled(about.Generation) && (fresh || !before.settled(about.Generation)) {
		out = append(out, Event{api.EventReconciled, about})
	}
	return out
}

// failsAgain reports whether a status that was failed for the same reason before fails once more. What a run came to
// stays in the status until another one has ended, also while a new release is at its own run.
func (s status) failsAgain(before status, kind api.Kind) bool {
	ran := before.run() != s.run() && s.LastState == string(api.RunFailed)
	return ran || !kind.HasRuns() && s.isOfAnother(before, kind)
}

// givesUp reports whether a rollout that was still tried, though it had failed, is tried no longer.
func (s status) givesUp(before status) bool {
	return before.Rollout.Phase == api.RolloutProgressing && s.Rollout.Phase == api.RolloutPaused
}

// isOfAnother reports whether a status is of another release than the one before. The first that is recorded of what
// was delivered to a cluster is not: an earlier version of Tend recorded none.
func (s status) isOfAnother(before status, kind api.Kind) bool {
	return before.release() != s.release() && !(kind.Delivered() && before.release() == "")
}

// run identifies how the last run is.
func (s status) run() string { return s.LastRun + "\n" + s.LastState }

// failure returns why a person is needed: the object is degraded, or its rollout was given up.
func (s status) failure() (reason, message string, failed bool) {
	if c := api.FindCondition(s.Conditions, api.ConditionDegraded); c != nil && c.Status == api.ConditionTrue {
		return c.Reason, c.Message, true
	}
	if strings.EqualFold(s.Phase, "failed") {
		return s.Reason, s.Message, true
	}
	switch s.Rollout.Phase {
	case api.RolloutPaused, api.RolloutRollingBack, api.RolloutRolledBack:
		return s.Rollout.Reason, s.Rollout.Message, true
	}
	return "", "", false
}

// settled reports whether the object is as the generation asks, and nothing is under way.
func (s status) settled(generation int64) bool {
	if c := api.FindCondition(s.Conditions, api.ConditionProgressing); c != nil && c.Status == api.ConditionTrue {
		return false
	}
	c := api.FindCondition(s.Conditions, api.ConditionReady)
	return s.ObservedGeneration >= generation && c != nil && c.Status == api.ConditionTrue
}
