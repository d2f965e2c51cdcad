package outcome

import (
	"cmp"
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/nextstep"
)

// blame sets the message from the condition that has the cause: Degraded if something failed, else Progressing.
func (s *judged) blame(c conditions) {
	s.Reason, s.Message, s.Next = c.ready.Reason, c.ready.Message, c.ready.Next
	var cause api.Condition
	switch {
	case holds(c.degraded) && (s.State == api.OutcomeFailed || !holds(c.ready)):
		cause = c.degraded
	case holds(c.ready) && (s.State == api.OutcomeConverged || c.progressing.Reason == api.ReasonStopping):
		return // it is as declared, but for pods that end
	case holds(c.ready):
		s.Reason, s.Message = c.progressing.Reason, c.progressing.Message
		return
	default:
		cause = c.progressing
	}
	if s.State == api.OutcomeFailed {
		s.Reason = cause.Reason
	}
	if cause.Message == "" {
		return
	}
	s.Cause, s.Next = cause.Message, cause.Next
	s.Message = cause.Message
	ready, why, _ := strings.Cut(c.ready.Message, ": ")
	switch {
	case strings.HasPrefix(cause.Message, c.ready.Message):
	case why != "" && strings.HasPrefix(cause.Message, why): // a cause is given once
		s.Message = ready + ": " + cause.Message
	default:
		s.Message = c.ready.Message + ": " + uncounted(cause.Message)
	}
}

// uncounted returns a cause without the count before it while no pod runs the release: that of the ready ones says as
// much.
func uncounted(cause string) string {
	if count, why, found := strings.Cut(cause, ": "); found && strings.HasPrefix(count, "0 of ") &&
		strings.Contains(count, " pods run ") {
		return why
	}
	return cause
}

// explain completes the outcome of a write that came to nothing: the cause, the last lines of the container that
// failed, and the next step.
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
	describe := "tend describe " + object
	if !s.Ref.Kind.HasContainers() {
		describe = fmt.Sprintf("tend describe %s %s", s.Ref.Kind, strings.TrimPrefix(object, api.Unscoped+"/"))
	}
	switch {
	case s.Reason == api.ReasonDeleted || s.Reason == "Deleting":
		return "apply again once " + s.Ref.String() + " is gone"
	case len(s.needs) > 0:
		return nextstep.GetReady(words(s.needs))
	case s.State == api.OutcomeHeld && s.turnsBack && s.Reason != api.ReasonRolledBack:
		step, _, _ := strings.Cut(s.Next, nextstep.MoreOutput) // of three steps the last would be lost
		return cmp.Or(step, describe) + "; to go back: tend rollback " + object
	case ranInVain(s.Reason) && s.Next != "" && !strings.Contains(s.Next, "tend run "+object):
		return s.Next + "; to run it again: tend run " + object // which no apply does
	case s.Reason == api.ReasonBuildFailed:
		return cmp.Or(s.Next, "correct the source and apply again") + "; the pods of before keep running"
	}
	return cmp.Or(s.Next, describe)
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
	case s.State == api.OutcomeHeld && strings.Contains(s.Message, fit.Never):
		return ""
	case s.State == api.OutcomeHeld && (s.Reason == api.ReasonNoRuntime || s.Reason == api.ReasonTooLarge):
		return "it waits for a node: "
	case s.State != api.OutcomeHeld || s.Reason == api.ReasonNoReadyPods || len(s.needs) > 0:
		return ""
	case s.Reason == api.ReasonRolledBack:
		return "rolled back: "
	case s.Reason == api.ReasonReleaseCommandFailed:
		return "not rolled out: "
	}
	return s.paused() + ": "
}

// paused returns what is paused, and what serves meanwhile, unless the engine doesn't answer: pods are then as last
// seen. Pods of an earlier release keep its name if they are what a later one asks for, after a rollback.
func (s judged) paused() string {
	r := s.rollout
	if !s.turnsBack || r == nil || !s.Ref.Kind.HasVersions() && !s.Ref.Kind.HasContainers() {
		return "paused"
	}
	if s.Reason == api.ReasonEngineUnavailable {
		return r.TargetRelease + " is paused"
	}
	ready, serving := 0, r.LastGoodRelease
	for _, pod := range s.Pods {
		if pod.Release == r.TargetRelease || !pod.Ready {
			continue
		}
		if ready++; pod.Release != r.LastGoodRelease {
			serving = "what ran before"
		}
	}
	if ready == 0 {
		return fmt.Sprintf("%s is paused, and no pod of before is ready", r.TargetRelease)
	}
	return fmt.Sprintf("%s still serves (%d of %d ready); %s is paused", serving, ready, r.Replicas, r.TargetRelease)
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
