package once

import (
	"testing"
	"time"

	"tend.dev/tend/api"
)

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestOutcome: what the container did counts, in the order in which it happened.
func TestOutcome(t *testing.T) {
	zero, seven, term := 0, 7, 143
	stopped := Attempt{Desired: api.DesiredShutdown, Reason: api.ReasonTimedOut, StopAt: epoch, Placed: true}
	on := Attempt{Desired: api.DesiredRunning, Placed: true}
	ended := func(a Attempt, state api.TaskState, code *int, after time.Duration) Attempt {
		a.Status = &api.TaskStatus{State: state, ExitCode: code, FinishedAt: epoch.Add(after)}
		if state == api.TaskFailed {
			a.Status.Reason = api.ReasonExited
		}
		return a
	}
	lost, unplaced := stopped, stopped
	lost.Lost, unplaced.Placed = true, false
	killed := ended(stopped, api.TaskShutdown, &seven, -time.Second)
	killed.Status.OOMKilled = true
	for name, c := range map[string]struct {
		reason  string
		attempt Attempt
		ended   bool
		want    Outcome
	}{
		"runs":            {"it has reported nothing", on, false, Outcome{}},
		"being stopped":   {"until it has stopped it may still work", stopped, false, Outcome{}},
		"completed":       {"its own end", ended(on, api.TaskComplete, &zero, 0), true, Outcome{OK: true}},
		"failed":          {"its own end", ended(on, api.TaskFailed, &seven, 0), true, Outcome{Reason: api.ReasonExited}},
		"completed first": {"its agent says so itself", ended(stopped, api.TaskComplete, &zero, time.Hour), true, Outcome{OK: true}},
		"exited first":    {"a later stop doesn't undo a success", ended(stopped, api.TaskShutdown, &zero, -time.Second), true, Outcome{OK: true}},
		"failed first":    {"a later stop didn't cause it", ended(stopped, api.TaskShutdown, &seven, -time.Second), true, Outcome{Reason: api.ReasonExited}},
		"out of memory":   {"a later stop didn't cause it", killed, true, Outcome{Reason: api.ReasonOOMKilled}},
		"answers 0": {"an answer to the signal doesn't count as success", ended(stopped, api.TaskShutdown, &zero, time.Second), true,
			Outcome{Stopped: true, Reason: api.ReasonTimedOut}},
		"at once": {"an exit at the instant of the stop counts as after it", ended(stopped, api.TaskShutdown, &zero, 0), true,
			Outcome{Stopped: true, Reason: api.ReasonTimedOut}},
		"stopped": {"it was interrupted", ended(stopped, api.TaskShutdown, &term, time.Second), true,
			Outcome{Stopped: true, Reason: api.ReasonTimedOut}},
		"node lost": {"nothing more will be reported", lost, true, Outcome{Reason: api.ReasonNodeLost}},
		"unplaced":  {"there is nothing to stop", unplaced, true, Outcome{Stopped: true, Reason: api.ReasonTimedOut}},
	} {
		if got := c.attempt.Ended(); got != c.ended {
			t.Errorf("%s (%s): ended is %v", name, c.reason, got)
			continue
		}
		if !c.ended {
			continue
		}
		got := c.attempt.Outcome()
		if got.OK != c.want.OK || got.Stopped != c.want.Stopped || got.Reason != c.want.Reason {
			t.Errorf("%s (%s): %+v, want %+v", name, c.reason, got, c.want)
		}
		if !got.OK && got.ExitCode != nil && *got.ExitCode == 0 {
			t.Errorf("%s: a failure with exit code 0", name)
		}
	}
}

// TestCheck: Check requests a stop once, at the limit, and only for a container that may run.
func TestCheck(t *testing.T) {
	limit := Limit{At: epoch, Reason: api.ReasonTimedOut}
	for name, c := range map[string]struct {
		attempt Attempt
		now     time.Time
		stop    string
		after   time.Duration
	}{
		"in time":  {Attempt{Desired: api.DesiredRunning}, epoch.Add(-time.Second), "", time.Second},
		"too long": {Attempt{Desired: api.DesiredRunning}, epoch, api.ReasonTimedOut, 0},
		"lost":     {Attempt{Desired: api.DesiredRunning, Lost: true}, epoch.Add(-time.Second), api.ReasonNodeLost, 0},
		"asked":    {Attempt{Desired: api.DesiredShutdown}, epoch, "", 0},
		"over":     {Attempt{Desired: api.DesiredRunning, Status: &api.TaskStatus{State: api.TaskComplete}}, epoch, "", 0},
	} {
		if stop, after := c.attempt.Check(limit, c.now); stop != c.stop || after != c.after {
			t.Errorf("%s: %q, %s; want %q, %s", name, stop, after, c.stop, c.after)
		}
	}
	if stop, after := (Attempt{Desired: api.DesiredRunning}).Check(Limit{}, epoch); stop != "" || after != 0 {
		t.Errorf("without a limit: %q, %s", stop, after)
	}
}
