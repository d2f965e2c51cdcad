package outcome

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestJudgeWhatFollows: an apply waits for the commands that follow its rollout and reports one that failed. A scale
// waits only for pods, whatever happens to a newer release.
func TestJudgeWhatFollows(t *testing.T) {
	present := api.Object{Kind: api.KindDeployment, Metadata: api.Metadata{Generation: 2, Revision: 10}}
	status := func(after api.ConditionStatus, reason string) api.WorkloadStatus {
		s := statusOf(10, api.Condition{Status: api.ConditionTrue, Reason: "Converged"},
			api.Condition{Status: api.ConditionFalse, Reason: "Complete"})
		s.Conditions = append(s.Conditions, api.Condition{Type: api.ConditionAfterRollout, Status: after,
			Reason: reason, Message: "post_deploy of v2 " + reason})
		return s
	}
	gated := func(phase api.RolloutPhase, replicas int) api.WorkloadStatus {
		failed := api.Condition{Status: api.ConditionFalse, Reason: "ReleaseCommandFailed",
			Message: "release.command of v3 failed\nlog"}
		s := degraded(statusOf(10, failed, failed))
		s.Release, s.Replicas, s.Ready = "v2", 3, 3
		s.Rollout = &api.RolloutStatus{Phase: phase, Replicas: replicas}
		return s
	}
	scaling := asked
	scaling.Counts = true
	for name, tc := range map[string]struct {
		reason           string
		wait             api.Awaited
		status           api.WorkloadStatus
		want             api.OutcomeState
		message, warning string
	}{
		"running": {"it is part of the apply", asked, status(api.ConditionUnknown, "RunningPostCommand"),
			api.OutcomePending, "post_deploy of v2 RunningPostCommand", ""},
		"to come": {"another release's, or none in this rollout", asked,
			status(api.ConditionUnknown, "WaitingForRollout"), api.OutcomeConverged, "", ""},
		"failed": {"reported, and nothing is undone", asked, status(api.ConditionFalse, "PostCommandFailed"),
			api.OutcomeConverged, "", "post_deploy of v2 PostCommandFailed"},
		"passed": {"nothing to report", asked, status(api.ConditionTrue, "PostCommandsPassed"),
			api.OutcomeConverged, "", ""},
		"running, scale": {"no matter of a scale", scaling, status(api.ConditionUnknown, "RunningPostCommand"),
			api.OutcomeConverged, "", ""},
		"failed release": {"an apply isn't rolled out", asked, gated(api.RolloutComplete, 3), api.OutcomeHeld,
			"release.command of v3", ""},
		"scaled": {"the pods are there", scaling, gated(api.RolloutComplete, 3), api.OutcomeConverged,
			"3 of 3 replicas ready", "they run v2: release.command of v3 failed"},
		"scaling": {"not all yet", scaling, gated(api.RolloutProgressing, 3), api.OutcomePending, "", ""},
		"not begun": {"the rollout is that of the count before", scaling, gated(api.RolloutComplete, 2),
			api.OutcomePending, "", ""},
	} {
		got := judge(tc.wait, present, tc.status)
		if got.State != tc.want || !strings.Contains(got.Message, tc.message) || got.Warning != tc.warning {
			t.Errorf("%s: %s: outcome %s, %q, warning %q", name, tc.reason, got.State, got.Message, got.Warning)
		}
	}
}
