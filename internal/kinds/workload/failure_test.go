package workload

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
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

// TestWhatEndsByItselfIsAJob: a program that ends with 0 did not crash, so its output isn't the next step alone.
func TestWhatEndsByItselfIsAJob(t *testing.T) {
	const logs = "tend logs prod/web"
	for code, want := range map[int]string{
		0: "let its program stay, or declare what ends by itself as a job; " + logs, 3: logs,
	} {
		task := api.Task{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "a"}
		status := &api.TaskStatus{RunningAt: time.Unix(1, 0), ExitCode: &code}
		o := observed{ref: web, tasks: []owner.Task{{Desired: records.Read[api.Task]{Value: &task}, Status: status}}}
		for _, reason := range []string{api.ReasonExited, api.ReasonCrashLoop} {
			if got := o.nextStep(rollout.Plan{Reason: reason, Slot: "a"}); got != want {
				t.Errorf("%s with exit code %d: %q, want %q", reason, code, got, want)
			}
		}
		if got := o.nextStep(rollout.Plan{Reason: "LivenessFailed", Slot: "a"}); got != logs {
			t.Errorf("stopped for its probe: %q", got)
		}
	}
}

// TestAProbeOfAnotherPort: where the program listens elsewhere, its output says nothing of the cause.
func TestAProbeOfAnotherPort(t *testing.T) {
	o := observed{ref: web}
	plan := rollout.Plan{Reason: "DeadlineExceeded",
		Message: "readiness: :80 refuses connections; " + probe.ListensElsewhere + "8080"}
	const want = "correct the probe's port, or let the program listen there"
	if got := o.nextStep(plan); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
