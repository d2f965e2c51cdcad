package outcome

import (
	"cmp"
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// blame sets the message from the condition that has the cause: Degraded if something failed, else Progressing.
func (s *judged) blame(status api.WorkloadStatus, ready, progressing api.Condition) {
	s.Reason, s.Message = ready.Reason, ready.Message
	cause := progressing
	if degraded := api.FindCondition(status.Conditions, api.ConditionDegraded); degraded != nil && degraded.Status == api.ConditionTrue {
		cause = *degraded
	}
	if ready.Status == api.ConditionTrue || cause.Message == "" {
		return
	}
	s.Cause, s.Next = cause.Message, cause.Next
	if cause.Reason == api.ReasonEngineUnavailable {
		s.Next += "; Ctrl-C is safe"
	}
	s.Message = cause.Message
	if ready.Message != "" {
		s.Message = ready.Message + ": " + cause.Message
	}
}

// explain completes the outcome of a write that came to nothing: the cause, the last lines of the container that failed,
// and the next step.
func (s *judged) explain() {
	if s.State == api.OutcomeReplaced {
		s.Cause = s.Message
		return
	}
	if s.State != api.OutcomeFailed && s.State != api.OutcomeHeld {
		s.Cause = ""
		return
	}
	head, log, _ := strings.Cut(cmp.Or(s.Cause, s.Message), "\n")
	s.Cause, s.Log, s.Next = ending(*s)+head, lastWords(*s, log), nextStep(*s)
	s.Message = ending(*s) + s.Message
}

// nextStep returns what to do about a write that came to nothing.
func nextStep(s judged) string {
	object := s.Ref.Scope + "/" + s.Ref.Name
	if s.Ref.Kind == api.KindIngress {
		return cmp.Or(s.Next, "tend describe ingress "+object)
	}
	switch {
	case s.Reason == api.ReasonDeleted || s.Reason == "Deleting":
		return "apply again once it is gone"
	case len(s.needs) > 0:
		return fmt.Sprintf("get %s ready; this goes on by itself", words(s.needs))
	case s.State == api.OutcomeHeld && s.turnsBack && s.Reason != api.ReasonRolledBack:
		return cmp.Or(s.Next, "tend describe "+object) + "; to go back: tend rollback " + object
	case s.Reason == api.ReasonBuildFailed:
		return cmp.Or(s.Next, "correct the source and apply again") + "; what ran before runs on"
	}
	return cmp.Or(s.Next, "tend describe "+object)
}

func words(refs []api.Ref) string {
	out := make([]string, len(refs))
	for i, ref := range refs {
		out[i] = ref.String()
	}
	return strings.Join(out, ", ")
}

// ending returns the word for a rollout that did not last.
func ending(s judged) string {
	switch {
	case s.State == api.OutcomeHeld && s.Ref.Kind.TimeBoxed() && len(s.needs) == 0:
		return "it waits for room: "
	case s.State == api.OutcomeHeld && (s.Reason == api.ReasonNoRuntime || s.Reason == api.ReasonTooLarge):
		return "it waits for a node: "
	case s.State != api.OutcomeHeld || s.Reason == api.ReasonNoReadyPods || len(s.needs) > 0:
		return ""
	case s.Reason == api.ReasonRolledBack:
		return "rolled back: "
	case s.Reason == api.ReasonReleaseCommandFailed:
		return "not rolled out: "
	}
	return "paused: "
}

// lastWords returns the last lines of the container that failed: those the condition carries, else those of the newest
// pod that isn't ready.
func lastWords(s judged, log string) []string {
	if log != "" {
		return strings.Split(strings.TrimRight(log, "\n"), "\n")
	}
	var newest api.Pod
	for _, pod := range s.Pods {
		if !pod.Ready && len(pod.LastLog) > 0 && pod.CreatedAt.After(newest.CreatedAt) {
			newest = pod
		}
	}
	return newest.LastLog
}
