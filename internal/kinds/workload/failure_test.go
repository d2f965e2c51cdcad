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
		0: "declare it as a job, or keep the program in the foreground", 3: logs,
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

// TestAProbeOfAnotherPort: where the program listens elsewhere, or doesn't know the path, its output says nothing of
// the cause.
func TestAProbeOfAnotherPort(t *testing.T) {
	o := observed{ref: web}
	for message, want := range map[string]string{
		":80 refuses connections; " + probe.ListensElsewhere + "8080": "correct the probe's port, or let the program listen there",
		"GET :80/up answered 404 'not found' (3 times)":               "correct the probe's path, or let the program answer it",
		"GET :80/up answered 503 'warming up' (3 times)":              "tend logs prod/web",
	} {
		if got := o.nextStep(rollout.Plan{Reason: "DeadlineExceeded", Message: message}); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

// TestACrashWhoseLinesAreShown: the lines name the cause, which a person corrects; the log has more of them.
func TestACrashWhoseLinesAreShown(t *testing.T) {
	task := api.Task{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "a", Role: api.RoleMain}
	status := api.TaskStatus{RunningAt: time.Unix(1, 0), LastLog: []string{"no database"}}
	o := observed{ref: web, tasks: []owner.Task{{Desired: records.Read[api.Task]{Value: &task}, Status: &status}}}
	plan := rollout.Plan{Reason: api.ReasonCrashLoop, Slot: "a", Message: "the program keeps exiting"}
	if got, want := o.nextStep(plan), "correct the cause and apply again; more output: tend logs prod/web"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if status.LastLog = nil; o.nextStep(plan) != "tend logs prod/web" {
		t.Errorf("without lines: %q", o.nextStep(plan))
	}
}

// TestACrashThatPrintsNothing: the next step isn't a log that is empty, neither while it loops nor when it is gone.
func TestACrashThatPrintsNothing(t *testing.T) {
	task := api.Task{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "a"}
	o := observed{ref: web, tasks: []owner.Task{{Desired: records.Read[api.Task]{Value: &task},
		Status: &api.TaskStatus{RunningAt: time.Unix(1, 0), State: api.TaskRunning}}}}
	o.spec.Probes = &api.Probes{Readiness: &api.Probe{Exec: &api.ExecProbe{Command: []string{"ready"}}}}
	for _, slot := range []string{"a", "gone"} {
		got := o.nextStep(rollout.Plan{Reason: api.ReasonCrashLoop, Slot: slot, Message: "last with exit code 3 " + probe.Silent})
		if want := "let it print why it ends, or correct `command` or `env`"; got != want {
			t.Errorf("slot %s: %q, want %q", slot, got, want)
		}
	}
}

// TestACheckThatPrintsNothing is run by hand as the next step: its output is in no log. A pod that doesn't run can't
// run it.
func TestACheckThatPrintsNothing(t *testing.T) {
	check := func(words ...string) *api.Probe { return &api.Probe{Exec: &api.ExecProbe{Command: words}} }
	for name, c := range map[string]struct {
		reason string
		probes *api.Probes
		state  api.TaskState
		says   string
		want   string
	}{
		"readiness": {"the pod runs, and arguments may be secret", &api.Probes{Readiness: check("pg_isready", "-d", "a b", "$X", "it's")}, api.TaskRunning,
			"readiness: pg_isready " + probe.Silent, "run the probe's command by hand: tend exec prod-web.a -- pg_isready …"},
		"startup": {"it is the one that fails", &api.Probes{Readiness: check("ready"), Startup: check("started")},
			api.TaskRunning, "startup: started " + probe.Silent, "tend exec prod-web.a -- started"},
		"spoke":   {"the message has its words", &api.Probes{Readiness: check("ready")}, api.TaskRunning, "readiness: no", "tend logs prod/web"},
		"ended":   {"nothing runs there", &api.Probes{Readiness: check("ready")}, api.TaskFailed, probe.Silent, "tend logs prod/web"},
		"image's": {"its command isn't declared", nil, api.TaskRunning, probe.Silent, "tend logs prod/web"},
	} {
		task := api.Task{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "a"}
		o := observed{ref: web, tasks: []owner.Task{{Desired: records.Read[api.Task]{Value: &task},
			Status: &api.TaskStatus{RunningAt: time.Unix(1, 0), State: c.state}}}}
		o.spec.Probes = c.probes
		if got := o.nextStep(rollout.Plan{Reason: "DeadlineExceeded", Slot: "a", Message: c.says}); got != c.want {
			t.Errorf("%s: %s: %q, want %q", name, c.reason, got, c.want)
		}
	}
}
