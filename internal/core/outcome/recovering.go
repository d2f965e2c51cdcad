package outcome

import (
	"fmt"

	"tend.dev/tend/api"
)

// judgeRecovering goes on with the wait for a rollout that paused, while the pod that had failed is ready: the cause is
// gone, and the status will say so once the pod has stayed up. Its message is still that of the failure.
func (s *judged) judgeRecovering(status api.WorkloadStatus) {
	if s.State != api.OutcomeHeld || s.Gone || status.Rollout == nil || status.Rollout.Phase != api.RolloutPaused {
		return
	}
	ready := 0
	for _, pod := range s.Pods {
		if pod.Release != status.Rollout.TargetRelease || pod.Role != api.RoleMain || !pod.Live() {
			continue
		}
		if !pod.Ready {
			return // the failed one, or another that may fail for the same cause
		}
		ready++
	}
	if ready <= status.Updated { // the status knows of all that are ready: the failed one waits for its next start
		return
	}
	s.State, s.Reason, s.Cause, s.Next = api.OutcomePending, "Recovering", "", ""
	s.Message = fmt.Sprintf("%d of %d pods of %s are ready again; waiting to see that they stay up", ready,
		status.Replicas, status.Rollout.TargetRelease)
}
