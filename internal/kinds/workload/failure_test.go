package workload

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// TestWhatNeverRanHasNoOutput: the next step against a failure is its output only where there can be some.
func TestWhatNeverRanHasNoOutput(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		status *api.TaskStatus
		want   string
	}{
		"ran": {"it may have printed why", &api.TaskStatus{RunningAt: time.Unix(1, 0)}, "tend logs prod/web"},
		"an init ran": {"that may have printed why", &api.TaskStatus{Inits: &api.InitProgress{}},
			"tend logs prod/web"},
		"never ran": {"its image could not be pulled in time", &api.TaskStatus{State: api.TaskPreparing},
			"tend describe prod/web"},
		"not reported": {"nothing is known", nil, "tend logs prod/web"},
	} {
		task := api.Task{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "a"}
		o := observed{ref: web, tasks: []owner.Task{{Desired: records.Read[api.Task]{Value: &task}, Status: c.status}}}
		if got := o.nextStep(rollout.Plan{Reason: "DeadlineExceeded", Slot: "a"}); got != c.want {
			t.Errorf("%s (%s): %q, want %q", name, c.reason, got, c.want)
		}
	}
	gone := observed{ref: web}
	if got, want := gone.nextStep(rollout.Plan{Reason: "SlotFailed", Slot: "a"}),
		"tend logs prod/web --previous"; got != want {
		t.Errorf("the container is gone: %q, want %q", got, want)
	}
}
