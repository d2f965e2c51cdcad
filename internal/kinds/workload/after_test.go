package workload

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestAfterRollout: the commands that follow a rollout have a condition of their own. It exists only if there are such
// commands, says what failed and what to do, doesn't affect Ready, and is about the release in force.
func TestAfterRollout(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.settle()
	if c := api.FindCondition(l.status().Conditions, api.ConditionAfterRollout); c != nil {
		t.Errorf("a release without such commands says %+v", c)
	}
	spec := replicas(1, "web:2")
	spec.Release, spec.PostDeploy = &api.ReleaseHooks{PostCommand: []string{"warm"}}, []string{"echo done"}
	l.does["v2-post"], l.does["v2-deploy"] = breaks, hangs
	l.apply(spec)
	l.untilHeld()
	l.is(api.ConditionAfterRollout, api.ConditionUnknown, api.ReasonRunningPostCommand,
		"post_deploy of v2 runs in prod-web.v2-deploy")
	l.is(api.ConditionReady, api.ConditionTrue, api.ReasonConverged, "")
	l.does["v2-deploy"] = succeeds
	l.settle()
	l.is(api.ConditionAfterRollout, api.ConditionFalse, api.ReasonPostCommandFailed,
		"release.post_command of v2 failed: the container ended with exit code 3; v2 serves all the same. `tend logs prod-web.v2-post`")
	l.is(api.ConditionAfterRollout, api.ConditionFalse, api.ReasonPostCommandFailed, "table users is locked")
	l.is(api.ConditionReady, api.ConditionTrue, api.ReasonConverged, "1 of 1")
	l.is(api.ConditionDegraded, api.ConditionFalse, api.ReasonAsExpected, "")
	spec.Image = "web:3"
	l.apply(spec)
	l.settle()
	l.is(api.ConditionAfterRollout, api.ConditionTrue, api.ReasonPostCommandsPassed,
		"release.post_command and post_deploy of v3 succeeded")
	l.apply(replicas(1, "web:1"))
	l.settle()
	if c := api.FindCondition(l.status().Conditions, api.ConditionAfterRollout); c != nil {
		t.Errorf("a release without such commands says %+v", c)
	}
}

// TestARetryLeavesAloneWhatServes: a retry of a release whose command failed replaces no pod until the command
// succeeds, and the pods it left alone are not outdated afterwards.
func TestARetryLeavesAloneWhatServes(t *testing.T) {
	l := newHarness(t)
	l.apply(released(2, "web:1"))
	l.settle()
	before := l.live()
	l.does["v2-command"], l.does["v3-command"] = breaks, breaks
	l.apply(released(2, "web:2"))
	l.settle()
	l.stamp(api.StampRetry, "1")
	l.settle()
	l.ranOnce("v1-pre v1-command v2-pre v2-command v3-pre v3-command")
	l.apply(released(2, "web:1")) // the way back
	l.settle()
	if now := l.live(); len(now) != 2 || now[0].ID != before[0].ID || now[1].ID != before[1].ID {
		t.Errorf("the pods were replaced: %v, were %v", l.running(), before)
	}
	l.apply(released(2, "web:2"))
	l.stamp(api.StampRetry, "2")
	l.settle()
	if got := l.running(); !strings.HasPrefix(got, "v") || strings.Contains(got, "v1") {
		t.Errorf("%q run once the command has passed", got)
	}
	l.is(api.ConditionProgressing, api.ConditionFalse, api.ReasonComplete, "")
	if c := l.condition(api.ConditionDegraded); c.Reason == api.ReasonReleaseCommandFailed {
		t.Errorf("it still says %s", c.Message)
	}
}
