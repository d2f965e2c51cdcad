package notify_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/notify/notifytest"
)

// state is a status as a kind's controller writes it.
type state struct {
	ready, progressing, degraded string // the reason of a condition that is True
	phase                        api.RolloutPhase
	release, lastRun, lastState  string
}

func (s state) text() json.RawMessage {
	condition := func(kind, reason string) api.Condition {
		if reason == "" {
			return api.Condition{Type: kind, Status: api.ConditionFalse, Reason: "AsExpected"}
		}
		return api.Condition{Type: kind, Status: api.ConditionTrue, Reason: reason, Message: reason}
	}
	fields := map[string]any{
		"observedGeneration": 1, "lastRun": s.lastRun, "lastState": s.lastState,
		"conditions": []api.Condition{condition(api.ConditionReady, s.ready),
			condition(api.ConditionProgressing, s.progressing), condition(api.ConditionDegraded, s.degraded)},
	}
	if s.phase != "" {
		fields["rollout"] = map[string]any{"phase": s.phase, "targetRelease": s.release}
	}
	raw, _ := json.Marshal(fields)
	return raw
}

// TestSituations: what people are sent of what the statuses of objects go through: one case for each row of the sink's
// page. The controllers' own tests have the same rows with the statuses that they write.
func TestSituations(t *testing.T) {
	text, err := os.ReadFile(notifytest.File)
	page := notifytest.PageOf(t, text, err)
	complete := state{ready: "Converged", phase: api.RolloutComplete, release: "v1"}
	rolling := state{progressing: "Progressing", phase: api.RolloutProgressing, release: "v2"}
	done := state{ready: "Converged", phase: api.RolloutComplete, release: "v2"}
	paused := func(reason string) state { return state{degraded: reason, phase: api.RolloutPaused, release: "v2"} }
	served := state{ready: "Served"}
	runs := state{ready: "Declared", progressing: "Running", lastRun: "r1", lastState: "running"}
	cases := map[string]struct {
		kind api.Kind
		is   []state
		want string
	}{
		"the first deploy: its image is pulled or built, its migration runs": {api.KindDeployment,
			[]state{{progressing: "ResolvingImage"}, {progressing: "Building"}, {progressing: "RunningReleaseCommand"}}, ""},
		"the first pods start": {api.KindDeployment,
			[]state{{progressing: "Progressing", phase: api.RolloutProgressing, release: "v1"}, complete}, ""},
		"a rollout is under way, start-first or stop-first": {api.KindDeployment, []state{complete, rolling, done}, ""},
		"the only pod of an app is replaced, and no pod is ready in between": {api.KindIngress,
			[]state{{}, served, {}, served}, ""},
		"config is set, or a restart is asked for: all pods are replaced": {api.KindDeployment,
			[]state{complete, rolling, done}, ""},
		"a newer apply takes the place of one that isn't complete": {api.KindDeployment, []state{complete, rolling,
			{progressing: "Progressing", phase: api.RolloutProgressing, release: "v3"},
			{ready: "Converged", phase: api.RolloutComplete, release: "v3"}}, ""},
		"a pod crashes once and is back within 30 s": {api.KindDeployment,
			[]state{complete, {progressing: "Restarting", phase: api.RolloutComplete, release: "v1"}, complete}, ""},
		"a workload is scaled to 0": {api.KindDeployment,
			[]state{complete, {progressing: "Stopping", phase: api.RolloutComplete, release: "v1"}, complete}, ""},
		"a person stops a pod, and starts it again": {api.KindDeployment,
			[]state{complete, {ready: "Frozen", phase: api.RolloutComplete, release: "v1"}, complete}, ""},
		"pods of a new release crash again and again": {api.KindDeployment,
			[]state{complete, rolling, paused("CrashLoop")}, "deployment prod/web failed: CrashLoop"},
		"a pod that served well crashes again and again": {api.KindDeployment,
			[]state{complete, {degraded: "CrashLoop", phase: api.RolloutComplete, release: "v1"}},
			"deployment prod/web failed: CrashLoop"},
		"a pod isn't ready within its deadline": {api.KindDeployment, []state{rolling, paused("DeadlineExceeded")},
			"deployment prod/web failed: DeadlineExceeded"},
		"a release is rolled back by itself": {api.KindDeployment,
			[]state{rolling, {degraded: "CrashLoop", phase: api.RolloutRollingBack, release: "v2"},
				{degraded: "RolledBack", phase: api.RolloutRolledBack, release: "v1"}}, "deployment prod/web failed: RolledBack"},
		"a release command fails": {api.KindDeployment, []state{complete, paused("ReleaseCommandFailed")},
			"deployment prod/web failed: ReleaseCommandFailed"},
		"an image isn't there": {api.KindDeployment,
			[]state{complete, {progressing: "ResolvingImage", degraded: "ImageNotFound", release: "v1"}},
			"deployment prod/web failed: ImageNotFound"},
		"pods that were ready are not any more, for 30 s, and an ingress leads to them": {api.KindIngress,
			[]state{served, {degraded: "NoReadyPods"}}, "ingress prod/web failed: NoReadyPods"},
		"a node is lost": {api.KindDeployment,
			[]state{complete, {progressing: "NodeLost", degraded: "NodeLost", phase: api.RolloutProgressing, release: "v1"}},
			"deployment prod/web failed: NodeLost"},
		"a certificate is being got, or is renewed in time": {api.KindIngress, []state{{}, served, served}, ""},
		"a certificate can't be got": {api.KindIngress, []state{{degraded: "CertificateFailed"}},
			"ingress prod/web failed: CertificateFailed"},
		"a certificate is about to expire: an attempt to renew it failed": {api.KindIngress,
			[]state{served, {ready: "Served", degraded: "CertificateFailed"}}, "ingress prod/web failed: CertificateFailed"},
		"a certificate has expired": {api.KindIngress, []state{served, {degraded: "CertificateFailed"}},
			"ingress prod/web failed: CertificateFailed"},
		"an attempt of a job fails, and the next one succeeds": {api.KindJob,
			[]state{runs, {ready: "Declared", lastRun: "r1", lastState: "succeeded"}}, ""},
		"a run of a job or a cron job failed": {api.KindJob,
			[]state{runs, {ready: "Declared", degraded: "RunFailed", lastRun: "r1", lastState: "failed"}},
			"job prod/web failed: RunFailed"},
		"a person stops a run or a lab": {api.KindJob,
			[]state{runs, {ready: "Declared", degraded: "Stopped", lastRun: "r1", lastState: "failed"}}, ""},
		"a person cancels an operation, or a newer one takes its place": {api.KindOperation,
			[]state{{progressing: "Running"}, {degraded: "UserCancelled"}, {degraded: "SupersededByOperation"}}, ""},
		"an operation fails": {api.KindOperation, []state{{progressing: "Running"}, {degraded: "EngineFailed"}},
			"operation prod/web failed: EngineFailed"},
		"what failed is as declared again": {api.KindDeployment, []state{complete, paused("CrashLoop"), done},
			"deployment prod/web recovered"},
	}
	for name, tc := range cases {
		object := api.Object{Kind: tc.kind, Scope: "prod", Name: "web", Metadata: api.Metadata{Generation: 1}}
		pager, got := notifytest.New(), ""
		for i, is := range tc.is {
			if pager.Write(object, is.text()); strings.HasSuffix(tc.want, " recovered") || i == len(tc.is)-1 {
				got = pager.Send()
			}
		}
		if got != tc.want {
			t.Errorf("%s: people are sent %q, want %q", name, got, tc.want)
		}
		page.Check(t, name, got)
	}
	for situation := range page {
		if _, ok := cases[situation]; !ok {
			t.Errorf("sink.md: %q has no case here", situation)
		}
	}
}

// TestAFailureThatPassedIsNamed: one that is over before its message is due is sent all the same.
func TestAFailureThatPassedIsNamed(t *testing.T) {
	object := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web", Metadata: api.Metadata{Generation: 1}}
	complete := state{ready: "Converged", phase: api.RolloutComplete, release: "v1"}
	pager := notifytest.New()
	for _, is := range []state{complete, {degraded: "NoNode", phase: api.RolloutProgressing, release: "v1"}, complete} {
		pager.Write(object, is.text())
	}
	if got := pager.Send(); got != "deployment prod/web failed: NoNode" {
		t.Errorf("people are sent %q", got)
	}
}
