package workload

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
)

// TestOutage: the dry run says what a bad release costs, where every pod stops before a new one starts.
func TestOutage(t *testing.T) {
	stops := func(release string) []rollout.Action {
		return []rollout.Action{{Verb: rollout.Shutdown, Version: rollout.Version{Release: release}},
			{Verb: rollout.Create}}
	}
	for name, tc := range map[string]struct {
		reason    string
		replicas  int
		parallel  int
		order     string
		onFailure string
		actions   []rollout.Action
		want      string
	}{
		"one pod": {"it is down until the rollback", 1, 1, api.OrderStopFirst, api.OnFailureRollback, stops("v1"),
			"1 replica, stop-first: a bad release is an outage of up to 5m (strategy.deadline), until v1 is back"},
		"nobody turns back": {"it is down until a person acts", 1, 1, api.OrderStopFirst, api.OnFailurePause,
			stops("v1"),
			`1 replica, stop-first: a bad release takes all pods down until it is corrected, or you run tend rollback (on_failure = "pause")`},
		"all at once": {"max_parallel takes them all down", 3, 3, api.OrderStopFirst, api.OnFailureRollback,
			stops("v1"),
			"3 replicas at once, stop-first: a bad release is an outage of up to 5m (strategy.deadline), until v1 is back"},
		"one of three": {"the others serve", 3, 1, api.OrderStopFirst, api.OnFailureRollback, stops("v1"), ""},
		"start-first":  {"the old one stays", 1, 1, api.OrderStartFirst, api.OnFailurePause, stops("v1"), ""},
		"nothing replaced": {"a scale-up takes nothing away", 1, 1, api.OrderStopFirst, api.OnFailureRollback,
			[]rollout.Action{{Verb: rollout.Create}}, ""},
		"a bad one goes": {"it serves nobody", 1, 1, api.OrderStopFirst, api.OnFailureRollback, stops("v0"), ""},
		"a restart": {"it is the same release", 1, 1, api.OrderStopFirst, api.OnFailureRollback, stops("v2"),
			""},
	} {
		t.Run(name, func(t *testing.T) {
			a := assessment{desired: rollout.Desired{
				Replicas: tc.replicas, Target: rollout.Version{Release: "v2"}, LastGood: "v1",
				Strategy: api.ResolvedStrategy{Order: tc.order, MaxParallel: tc.parallel, OnFailure: tc.onFailure,
					Deadline: 5 * time.Minute},
			}}
			if got := outage(a, tc.actions); got != tc.want {
				t.Errorf("%s: %q", tc.reason, got)
			}
		})
	}
}
