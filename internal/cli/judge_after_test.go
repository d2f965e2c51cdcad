package cli

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
		s := statusOf(10, api.Condition{Status: api.ConditionTrue, Reason: "Converged"}, api.Condition{Status: api.ConditionFalse, Reason: "Complete"})
		s.Conditions = append(s.Conditions, api.Condition{Type: api.ConditionAfterRollout, Status: after, Reason: reason, Message: "post_deploy of v2 " + reason})
		return s
	}
	gated := func(phase api.RolloutPhase, replicas int) api.WorkloadStatus {
		failed := api.Condition{Status: api.ConditionFalse, Reason: "ReleaseCommandFailed", Message: "release.command of v3 failed\nlog"}
		s := statusOf(10, failed, failed)
		s.Release, s.Replicas, s.Ready = "v2", 3, 3
		s.Rollout = &api.RolloutStatus{Phase: phase, Replicas: replicas}
		return s
	}
	scaling := asked
	scaling.counts = true
	for name, tc := range map[string]struct {
		reason           string
		wait             wait
		status           api.WorkloadStatus
		want             outcome
		message, warning string
	}{
		"running":        {"it is part of the apply", asked, status(api.ConditionUnknown, "RunningPostCommand"), pending, "post_deploy of v2 RunningPostCommand", ""},
		"to come":        {"another release's, or none in this rollout", asked, status(api.ConditionUnknown, "WaitingForRollout"), converged, "", ""},
		"failed":         {"told, and nothing is undone", asked, status(api.ConditionFalse, "PostCommandFailed"), converged, "", "post_deploy of v2 PostCommandFailed"},
		"passed":         {"nothing to tell", asked, status(api.ConditionTrue, "PostCommandsPassed"), converged, "", ""},
		"running, scale": {"no matter of a scale", scaling, status(api.ConditionUnknown, "RunningPostCommand"), converged, "", ""},
		"failed release": {"an apply isn't rolled out", asked, gated(api.RolloutComplete, 3), held, "release.command of v3", ""},
		"scaled":         {"the pods are there", scaling, gated(api.RolloutComplete, 3), converged, "3 of 3 replicas ready", "they run v2: release.command of v3 failed"},
		"scaling":        {"not all yet", scaling, gated(api.RolloutProgressing, 3), pending, "", ""},
		"not begun":      {"the rollout is that of the count before", scaling, gated(api.RolloutComplete, 2), pending, "", ""},
	} {
		got := judge(tc.wait, present, tc.status)
		if got.outcome != tc.want || !strings.Contains(got.message, tc.message) || got.warning != tc.warning {
			t.Errorf("%s: %s: outcome %d, %q, warning %q", name, tc.reason, got.outcome, got.message, got.warning)
		}
	}
}

// TestTimedOutSaysWhatHoldsItUp: the error has the pods' messages beside the counts.
func TestTimedOutSaysWhatHoldsItUp(t *testing.T) {
	err := timedOut([]seen{{wait: asked, message: "0 of 1", pods: []api.Pod{
		{Name: "prod-web.a", Message: "readiness probe: refused\nlog"}, {Name: "prod-web.b", Ready: true, Message: "well"},
	}}}, 0)
	if text := err.Error(); !strings.Contains(text, "0 of 1\n    prod-web.a: readiness probe: refused") || strings.Contains(text, "prod-web.b") {
		t.Error(text)
	}
}
