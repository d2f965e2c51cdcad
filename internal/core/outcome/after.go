package outcome

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// judgeAfter records the state of the commands that follow a rollout. The wait includes them. A failed one is reported,
// and undoes nothing.
func (s *judged) judgeAfter(status api.WorkloadStatus) {
	after := api.FindCondition(status.Conditions, api.ConditionAfterRollout)
	switch {
	case after == nil:
	case after.Status == api.ConditionUnknown && after.Reason == api.ReasonRunningPostCommand:
		s.follows = after.Message
	case after.Status == api.ConditionFalse:
		s.Warning = after.Message
	}
}

// counted reports whether as many pods as wanted run the release in force.
func counted(status api.WorkloadStatus) bool {
	r := status.Rollout
	return r != nil && r.Phase == api.RolloutComplete && r.Replicas == status.Replicas
}

// scaled completes the outcome of a wait for pods, with a warning about a release that failed.
func (s *judged) scaled(status api.WorkloadStatus, failed api.Condition) {
	s.Reason, s.Message = "Scaled", fmt.Sprintf("%d of %d replicas ready", status.Ready, status.Replicas)
	head, _, _ := strings.Cut(failed.Message, "\n")
	s.Warning = "they run " + status.Release + ": " + head
}
