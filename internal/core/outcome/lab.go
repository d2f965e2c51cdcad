package outcome

import (
	"slices"

	"tend.dev/tend/api"
)

// manyFailures is how many containers of a lab may fail to start before its write counts as failed. Tend goes on trying.
const manyFailures = 3

// judgeLab returns what has become of the write of a lab: it converged once the lab runs, or waits for its instant, or is over.
func (s judged) judgeLab(object api.Object, ready, progressing api.Condition, degraded *api.Condition) judged {
	s.Reason, s.Message, s.needs = ready.Reason, ready.Message, needs(object, progressing)
	troubled := degraded != nil && degraded.Status == api.ConditionTrue
	if troubled {
		s.Reason, s.Message, s.Next = degraded.Reason, degraded.Message, degraded.Next
	}
	passing := []string{api.ReasonNoNode, api.ReasonTooLarge, api.ReasonNoRuntime, api.ReasonProvisioningFailed}
	switch {
	case troubled && !slices.Contains(passing, degraded.Reason), troubled && failures(object) >= manyFailures:
		s.State = api.OutcomeFailed
	case troubled && progressing.Status == api.ConditionFalse: // no node has room, and none is about to
		s.State = api.OutcomeHeld
	case troubled || progressing.Status == api.ConditionTrue && progressing.Reason != api.ReasonCleaningUp: // it is tried again, or made
	case ready.Reason == api.ReasonScheduled || ready.Status == api.ConditionTrue || progressing.Status == api.ConditionFalse,
		progressing.Reason == api.ReasonCleaningUp:
		s.State = api.OutcomeConverged
	}
	return s
}

// awaitSettled keeps a lab pending that runs, until its node has seen that its container stays up. One that ends at once was running too,
// for a moment.
func (s *judged) awaitSettled() {
	settling := slices.ContainsFunc(s.Pods, func(pod api.Pod) bool { return pod.Settling })
	if s.State == api.OutcomeConverged && s.Reason == api.ReasonRunning && settling && !s.Gone {
		s.State, s.Message = api.OutcomePending, "it runs; waiting a moment to see that it stays up"
	}
}

// failures returns how many containers of a lab could not be started.
func failures(object api.Object) int {
	status, err := api.DecodeStatus[api.LabStatus](object)
	if err != nil {
		return 0
	}
	return status.Failures
}
