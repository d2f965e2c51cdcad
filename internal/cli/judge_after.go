package cli

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// judgeAfter records the state of the commands that follow a rollout. The wait includes them. A failed one is reported,
// and undoes nothing.
func (s *seen) judgeAfter(status api.WorkloadStatus) {
	after := api.FindCondition(status.Conditions, api.ConditionAfterRollout)
	switch {
	case after == nil:
	case after.Status == api.ConditionUnknown && after.Reason == "RunningPostCommand":
		s.follows = after.Message
	case after.Status == api.ConditionFalse:
		s.warning = after.Message
	}
}

// warnOf prints the warnings of objects that have converged.
func (a *app) warnOf(looks []seen) {
	for _, s := range looks {
		if s.warning != "" && s.outcome == converged {
			fmt.Fprintf(a.err, "warning: %s: %s\n", s.ref, printable(s.warning, "\n"))
		}
	}
}

// counted reports whether as many pods as wanted run the release in force.
func counted(status api.WorkloadStatus) bool {
	r := status.Rollout
	return r != nil && r.Phase == api.RolloutComplete && r.Replicas == status.Replicas
}

// scaled ends a wait for pods as converged, with a warning about a release that failed.
func (s seen) scaled(status api.WorkloadStatus, failed api.Condition) seen {
	s.outcome, s.reason, s.message = converged, "Scaled", fmt.Sprintf("%d of %d replicas ready", status.Ready, status.Replicas)
	head, _, _ := strings.Cut(failed.Message, "\n")
	s.warning = "they run " + status.Release + ": " + head
	return s
}
