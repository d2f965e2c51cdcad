package cli

import (
	"cmp"
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// engineAway is the reason of an object if no node of it has an engine that answers.
const engineAway = "EngineUnavailable"

// blame sets the message from the condition that has the cause: Degraded if something failed, else Progressing.
func (s *seen) blame(status api.WorkloadStatus, ready, progressing api.Condition) {
	s.reason, s.message = ready.Reason, ready.Message
	cause := progressing
	if degraded := api.FindCondition(status.Conditions, api.ConditionDegraded); degraded != nil && degraded.Status == api.ConditionTrue {
		cause = *degraded
	}
	if ready.Status == api.ConditionTrue || cause.Message == "" {
		return
	}
	s.why, s.next = cause.Message, cause.Next
	if cause.Reason == engineAway {
		s.next += "; Ctrl-C is safe"
	}
	s.message = cause.Message
	if ready.Message != "" {
		s.message = ready.Message + ": " + cause.Message
	}
}

// trouble says why a wait failed, with the last lines of the failed container and the next step.
func trouble(s seen) string {
	head, log, _ := strings.Cut(cmp.Or(s.why, s.message), "\n")
	text := fmt.Sprintf("%s: %s%s", s.ref, ending(s), head)
	for _, line := range lastWords(s, log) {
		text += "\n  | " + line
	}
	return text + nextLine("  ", nextStep(s))
}

// nextLine returns a line of its own; nothing if there is no step.
func nextLine(indent, step string) string {
	if step == "" {
		return ""
	}
	return "\n" + indent + "Next: " + step
}

// nextStep returns what to do about a wait that came to nothing.
func nextStep(s seen) string {
	object := s.ref.Scope + "/" + s.ref.Name
	if s.ref.Kind == api.KindIngress {
		return cmp.Or(s.next, "tend describe ingress "+object)
	}
	switch {
	case s.reason == "Deleted" || s.reason == "Deleting":
		return "apply again once it is gone"
	case len(s.needs) > 0:
		return fmt.Sprintf("get %s ready; this goes on by itself", words(s.needs))
	case s.outcome == held && s.turnsBack && s.reason != "RolledBack":
		return cmp.Or(s.next, "tend describe "+object) + "; to go back: tend rollback " + object
	case s.reason == api.ReasonBuildFailed:
		return cmp.Or(s.next, "correct the source and apply again") + "; what ran before runs on"
	}
	return cmp.Or(s.next, "tend describe "+object)
}

func words(refs []api.Ref) string {
	out := make([]string, len(refs))
	for i, ref := range refs {
		out[i] = ref.String()
	}
	return strings.Join(out, ", ")
}

// ending returns the word for a rollout that did not last.
func ending(s seen) string {
	switch {
	case s.outcome != held || s.reason == noReadyPods || len(s.needs) > 0:
		return ""
	case s.reason == "RolledBack":
		return "rolled back: "
	case s.reason == "ReleaseCommandFailed":
		return "not rolled out: "
	}
	return "paused: "
}

// lastWords returns the last lines of the container that failed: those the condition carries, else those of the newest
// pod that isn't ready.
func lastWords(s seen, log string) []string {
	if log != "" {
		return strings.Split(strings.TrimRight(log, "\n"), "\n")
	}
	var newest api.Pod
	for _, pod := range s.pods {
		if !pod.Ready && len(pod.LastLog) > 0 && pod.CreatedAt.After(newest.CreatedAt) {
			newest = pod
		}
	}
	return newest.LastLog
}
