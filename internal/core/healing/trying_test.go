package healing_test

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
)

// TestTheLastErrorStaysBetweenTries: that a step is tried again replaces no error; a step that succeeded, another error
// or another state of the container does.
func TestTheLastErrorStaysBetweenTries(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	began := now
	task := api.Task{ID: "t1", Node: "n1", Class: api.ClassKeep, Desired: api.DesiredRunning}
	made := func(state healing.State) *healing.Container {
		return &healing.Container{ID: "c1", State: state, CreatedAt: now, Restart: "unless-stopped"}
	}
	in := healing.Input{Task: task}
	plan := func(why string, container *healing.Container, fault *healing.Fault, verb healing.Verb, reason, message string,
		failing bool) {
		t.Helper()
		in.Container, in.Fault = container, fault
		d := healing.Plan(in, now)
		in.Status = d.Status
		if d.Action.Verb != verb || d.Status.Reason != reason || d.Status.Message != message {
			t.Errorf("%s: %s, %s: %s; want %s, %s: %s", why, d.Action, d.Status.Reason, d.Status.Message, verb, reason, message)
		}
		if since := d.Status.FailingSince; failing != !since.IsZero() || failing && !since.Equal(began) {
			t.Errorf("%s: failing since %s", why, since)
		}
		now = now.Add(time.Second)
	}
	disk := &healing.Fault{Reason: "DiskFull", Message: "no space left", Next: "free space"}
	odd := &healing.Fault{Reason: "EngineError", Message: "odd"}
	plan("at first", nil, nil, healing.Create, "Creating", "", false)
	began = now
	plan("it can't be created", nil, disk, healing.None, "DiskFull", "no space left", true)
	plan("tried again", nil, nil, healing.Create, "DiskFull", "no space left", true)
	if in.Status.Next != "free space" {
		t.Errorf("next %q", in.Status.Next)
	}
	plan("created, and not started yet", made(healing.Created), nil, healing.Start, "DiskFull", "no space left", true)
	plan("it can't be started", made(healing.Created), odd, healing.None, "EngineError", "odd", true)
	plan("started again", made(healing.Created), nil, healing.Start, "EngineError", "odd", true)
	running := made(healing.Running)
	running.StartedAt = now
	in.Probes = &healing.Probing{Container: "c1", StartedAt: now}
	plan("it runs", running, nil, healing.None, "", "", false)
	gone := made(healing.Exited)
	gone.StartedAt, in.Cause = running.StartedAt, healing.CauseHand
	plan("stopped by hand", gone, nil, healing.Start, "Stopped", "the container was stopped by hand; it is started again", false)
	began = now
	plan("it can't be started again", gone, odd, healing.None, "EngineError", "odd", true)
	in.Frozen = true
	plan("frozen", gone, nil, healing.None, "Frozen",
		"the pod was stopped on purpose; `tend start` lets it run again", false)
	in.Status.FailingSince = now
	if got := healing.Unreachable(in.Status, "away"); !got.FailingSince.IsZero() || got.Reason != "EngineUnavailable" {
		t.Errorf("while the engine is away: %+v", got)
	}
}
