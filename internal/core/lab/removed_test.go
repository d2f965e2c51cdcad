package lab

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

// TestNoContainerBeforeItsStart: a lab that began while the clock was ahead gets another container only at its start by
// the corrected clock.
func TestNoContainerBeforeItsStart(t *testing.T) {
	desired := Desired{Start: epoch.Add(time.Hour), Duration: time.Hour, Release: "v1"}
	seen := Observed{Phase: api.LabProvisioning, Failures: 1, RetryAt: epoch.Add(time.Hour + time.Second)}
	plan := Decide(desired, seen, epoch)
	waits := plan.Phase == api.LabProvisioning && plan.Waits == ForStart && plan.After == time.Hour
	if !waits || len(plan.Actions) > 0 {
		t.Errorf("an hour before its start: %+v", plan)
	}
	seen.RetryAt = time.Time{}
	if plan := Decide(desired, seen, desired.Start); len(plan.Actions) != 1 || plan.Actions[0].Verb != StartTask {
		t.Errorf("at its start: %+v", plan)
	}
}

// TestARemovedContainerMayHaveRun: a lab fails if its container was removed, or its machine declared off, before it was
// seen to run: another container could run it twice. A rejected container certainly didn't run.
func TestARemovedContainerMayHaveRun(t *testing.T) {
	for name, c := range map[string]struct {
		state  api.TaskState
		reason string
		phase  api.LabPhase
		why    string
	}{
		"removed": {api.TaskFailed, api.ReasonContainerRemoved, api.LabFailed, api.ReasonContainerRemoved},
		"off":     {api.TaskFailed, api.ReasonNodeDown, api.LabFailed, api.ReasonNodeDown},
		"refused": {api.TaskRejected, "InvalidMount", api.LabProvisioning, api.ReasonProvisioningFailed},
	} {
		t.Run(name, func(t *testing.T) {
			status := api.TaskStatus{State: c.state, Reason: c.reason, Container: "c1"}
			seen := Observed{Phase: api.LabProvisioning, Tasks: []Task{{
				Attempt: once.Attempt{Desired: api.DesiredRunning, Placed: true, Status: &status},
				ID:      "t1", Release: "v1", Number: 1, CreatedAt: epoch,
			}}}
			plan := Decide(Desired{Duration: time.Hour, Release: "v1"}, seen, epoch)
			if plan.Phase != c.phase || plan.Reason != c.why {
				t.Errorf("%s (%s), want %s (%s)", plan.Phase, plan.Reason, c.phase, c.why)
			}
			for _, action := range plan.Actions {
				if action.Verb == StartTask {
					t.Errorf("another container is made: %s", action)
				}
			}
		})
	}
}

// TestACorrectedLabOfABackup: a lab that is declared again after a restore waits for what it depends on, though no
// container of it is on record.
func TestACorrectedLabOfABackup(t *testing.T) {
	for redeclared, want := range map[bool]api.LabPhase{true: api.LabProvisioning, false: api.LabFailed} {
		desired := Desired{Start: epoch, Duration: time.Hour, Release: "v2", Held: "prod/db", Over: epoch.Add(time.Minute),
			Redeclared: redeclared}
		if plan := Decide(desired, Observed{Phase: api.LabProvisioning, Tried: "v2"}, epoch.Add(time.Hour)); plan.Phase != want {
			t.Errorf("declared again %v: %s (%s)", redeclared, plan.Phase, plan.Message)
		}
	}
}
