package timetable

import (
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestWhatIsOverBeginsNoRun: due times up to Over begin no run and count as none that were missed; the next one runs.
func TestWhatIsOverBeginsNoRun(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 23, hour, minute, 0, 0, time.UTC) }
	d := Desired{Schedule: parse(t, "0 * * * *", "UTC"), ScheduleHash: "s", StartingDeadline: time.Hour,
		Concurrency: api.ConcurrencyAllow, Since: at(1, 0), Over: at(9, 30)}
	for name, line := range map[string]Timeline{"a known schedule": {ScheduleHash: "s", Last: at(3, 0)},
		"one that was never seen": {}} {
		plan := Decide(d, Observed{Timeline: line}, at(9, 31))
		if len(plan.Actions) > 0 || plan.Timeline.Missed != 0 || !plan.NextRun.Equal(at(10, 0)) {
			t.Errorf("%s: %v, %d missed, next %s", name, plan.Actions, plan.Timeline.Missed, plan.NextRun)
		}
		if plan = Decide(d, Observed{Timeline: plan.Timeline}, at(10, 0)); len(plan.Actions) == 0 ||
			plan.Actions[0].Verb != CreateRun {
			t.Errorf("%s: the next due time: %v", name, plan.Actions)
		}
	}
}

// TestAClockThatWasAheadAtARestore: Over was noted while the clock was ahead; that silences nothing once it is right
// again.
func TestAClockThatWasAheadAtARestore(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 23, hour, minute, 0, 0, time.UTC) }
	d := Desired{Schedule: parse(t, "0 * * * *", "UTC"), ScheduleHash: "s", StartingDeadline: time.Hour,
		Concurrency: api.ConcurrencyAllow, Since: at(1, 0), Over: at(20, 0)}
	plan := Decide(d, Observed{Timeline: Timeline{ScheduleHash: "s", Last: at(3, 0)}}, at(3, 30))
	if plan = Decide(d, Observed{Timeline: plan.Timeline}, at(4, 0)); len(plan.Actions) == 0 ||
		plan.Actions[0].Verb != CreateRun {
		t.Errorf("at the next due time: %v, next %s", plan.Actions, plan.NextRun)
	}
}

// TestARunStaysUntilItsDueTimeIsStored: after a crash the run may be all that says that its due time was dealt with.
// Were it deleted by a plan whose timeline isn't stored either, the due time would begin another one.
func TestARunStaysUntilItsDueTimeIsStored(t *testing.T) {
	due := time.Date(2026, 11, 21, 11, 59, 0, 0, time.UTC)
	desired := Desired{Schedule: parse(t, "* * * * *", "UTC"), ScheduleHash: "h", Release: "v1"}
	for name, line := range map[string]Timeline{
		"a clock that goes on": {ScheduleHash: "h", Last: due.Add(-time.Minute)},
		"one that was set back": {ScheduleHash: "h", Last: due.Add(-time.Minute), Ahead: due.Add(time.Hour),
			Skipped: []api.TimeSpan{{After: due.Add(-time.Second), Before: due.Add(time.Second)}}},
	} {
		observed := Observed{Timeline: line, Runs: []api.Run{{
			ID: RunID(due), Trigger: api.TriggerSchedule, ScheduledAt: due, CreatedAt: due, FinishedAt: due.Add(time.Second),
			State: api.RunSucceeded,
		}}}
		now := due.Add(30 * time.Second)
		prunes := func(plan Plan) bool {
			return slices.ContainsFunc(plan.Actions, func(a Action) bool { return a.Verb == PruneRun })
		}
		first := Decide(desired, observed, now)
		if prunes(first) || first.After > time.Second {
			t.Errorf("%s: %v, again after %s", name, first.Actions, first.After)
		}
		observed.Timeline = first.Timeline
		if second := Decide(desired, observed, now); !prunes(second) {
			t.Errorf("%s: once it is stored: %v", name, second.Actions)
		}
	}
}
