package notify_test

import (
	"encoding/json"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
	"tend.dev/tend/internal/core/notify"
	"tend.dev/tend/internal/core/sink"
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

// TestSituations: what people are sent of what the statuses of objects go through, as the page of the sink lists it.
func TestSituations(t *testing.T) {
	complete := state{ready: "Converged", phase: api.RolloutComplete, release: "v1"}
	rolling := state{progressing: "Progressing", phase: api.RolloutProgressing, release: "v2"}
	served := state{ready: "Served"}
	for name, tc := range map[string]struct {
		kind api.Kind
		is   []state
		want string
	}{
		"the first image":     {api.KindDeployment, []state{{progressing: "ResolvingImage"}}, ""},
		"the first migration": {api.KindDeployment, []state{{progressing: "RunningReleaseCommand"}}, ""},
		"the first pods": {api.KindDeployment,
			[]state{{progressing: "Progressing", phase: api.RolloutProgressing, release: "v1"}, complete}, ""},
		"a rollout": {api.KindDeployment,
			[]state{complete, rolling, {ready: "Converged", phase: api.RolloutComplete, release: "v2"}}, ""},
		"its ingress meanwhile": {api.KindIngress, []state{{}, served, {}, served}, ""},
		"the ingress is not served": {api.KindIngress, []state{served, {degraded: "NoReadyPods"}},
			"ingress prod/web failed: NoReadyPods"},
		"a certificate is got": {api.KindIngress, []state{{}}, ""},
		"a certificate fails": {api.KindIngress, []state{{degraded: "CertificateFailed"}},
			"ingress prod/web failed: CertificateFailed"},
		"a crash loop": {api.KindDeployment,
			[]state{complete, rolling, {degraded: "CrashLoop", phase: api.RolloutPaused, release: "v2"}},
			"deployment prod/web failed: CrashLoop"},
		"never ready": {api.KindDeployment,
			[]state{rolling, {degraded: "DeadlineExceeded", phase: api.RolloutPaused, release: "v2"}},
			"deployment prod/web failed: DeadlineExceeded"},
		"a rollback": {api.KindDeployment,
			[]state{rolling, {degraded: "CrashLoop", phase: api.RolloutRollingBack, release: "v2"},
				{degraded: "RolledBack", phase: api.RolloutRolledBack, release: "v1"}}, "deployment prod/web failed: RolledBack"},
		"a node is lost": {api.KindDeployment,
			[]state{complete, {progressing: "NodeLost", degraded: "NodeLost", phase: api.RolloutProgressing, release: "v1"}},
			"deployment prod/web failed: NodeLost"},
		"scaled to none": {api.KindDeployment,
			[]state{complete, {progressing: "Stopping", phase: api.RolloutComplete, release: "v1"}, complete}, ""},
		"an attempt of a job": {api.KindJob,
			[]state{{ready: "Declared", progressing: "Running", lastRun: "r1", lastState: "running"}}, ""},
		"a run of a job fails": {api.KindJob,
			[]state{{ready: "Declared", lastRun: "r1", lastState: "running"},
				{ready: "Declared", degraded: "RunFailed", lastRun: "r1", lastState: "failed"}}, "job prod/web failed: RunFailed"},
		"as declared again in time": {api.KindDeployment,
			[]state{complete, {degraded: "NoNode", phase: api.RolloutProgressing, release: "v1"}, complete},
			"deployment prod/web failed: NoNode"},
	} {
		known, set, now := api.SinkCauses{}, notify.SettingsOf(nil), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		object := api.Object{Kind: tc.kind, Scope: "prod", Name: "web", Metadata: api.Metadata{UID: "u", Generation: 1}}
		var before json.RawMessage
		for _, is := range tc.is {
			next := is.text()
			for _, e := range change.Status(object, before, next) {
				raw, _ := json.Marshal(e.Data)
				if signal, ok := sink.SignalOf(nil, "sink",
					api.Event{ID: "1.0", Type: api.EventType(tc.kind, e.Action), Data: raw}); ok {
					signal.At = now
					known = notify.Observe(known, set, signal)
				}
			}
			before = next
		}
		got := ""
		if m, ok := notify.Next(known, set, now.Add(time.Hour)); ok {
			got, _, _ = notify.Text(m, nil)
		}
		if got != tc.want {
			t.Errorf("%s: people are sent %q, want %q", name, got, tc.want)
		}
	}
}
