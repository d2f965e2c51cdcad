package cli

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// judgeAfter notes how the commands went that follow a rollout. They are waited for; one that failed is told of, and undoes
// nothing.
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

// warnOf tells of what a person should know though nothing is waited for any more.
func (a *app) warnOf(looks []seen) {
	for _, s := range looks {
		if s.warning != "" && s.outcome == converged {
			fmt.Fprintf(a.err, "warning: %s: %s\n", s.ref, printable(s.warning, "\n"))
		}
	}
}

// counted says whether the release in force runs in as many pods as are wanted.
func counted(status api.WorkloadStatus) bool {
	r := status.Rollout
	return r != nil && r.Phase == api.RolloutComplete && r.Replicas == status.Replicas
}

// scaled ends a wait for pods beside a release that failed.
func (s seen) scaled(status api.WorkloadStatus, failed api.Condition) seen {
	s.outcome, s.reason, s.message = converged, "Scaled", fmt.Sprintf("%d of %d replicas ready", status.Ready, status.Replicas)
	head, _, _ := strings.Cut(failed.Message, "\n")
	s.warning = "they run " + status.Release + ": " + head
	return s
}
