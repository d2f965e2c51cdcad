package timetable

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

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

// TestACronJobGoesOnAfterARestoreUnderAWrongClock: a restore dealt with all up to a time that the clock had not
// reached. Which due times had run before is unknown: once the clock is right, those of an hour begin no run. A clock
// that is wrong again meanwhile makes it no longer.
func TestACronJobGoesOnAfterARestoreUnderAWrongClock(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 23, hour, minute, 0, 0, time.UTC) }
	d := Desired{Schedule: parse(t, "*/30 * * * *", "UTC"), ScheduleHash: "s", StartingDeadline: time.Hour,
		Concurrency: api.ConcurrencyAllow, Since: at(1, 0), Over: at(20, 10)}
	for name, clock := range map[string][]time.Time{
		"right at once":    {at(20, 11)},
		"on for a while":   {at(20, 11), at(20, 30), at(21, 0)},
		"a little behind":  {at(20, 11), at(20, 9)},
		"half as wrong":    {at(20, 11), at(12, 1)},
		"wrong once again": {at(20, 11), at(4, 10), at(20, 11)},
	} {
		line := Timeline{ScheduleHash: "s", Last: at(3, 0), Skipped: []api.TimeSpan{{Before: at(1, 0)}}}
		var begun []string
		for _, now := range append(clock, at(4, 11), at(4, 30), at(5, 0), at(5, 30), at(6, 0)) {
			plan := Decide(d, Observed{Timeline: line}, now)
			line = plan.Timeline
			for _, a := range plan.Actions {
				if a.Verb == CreateRun && now.Hour() < 12 {
					begun = append(begun, a.Due.ScheduledAt.Format("15:04"))
				}
			}
		}
		if !slices.Equal(begun, []string{"05:30", "06:00"}) {
			t.Errorf("%s: once the clock is right, %v begin runs: %+v", name, begun, line)
		}
	}
}

// TestASecondRestoreUnderAWrongClock: it knows no more of the due times of the first. Once the clock is right, those
// of an hour begin no run; the run between the restores is repeated by none.
func TestASecondRestoreUnderAWrongClock(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 23, hour, minute, 0, 0, time.UTC) }
	d := Desired{Schedule: parse(t, "*/30 * * * *", "UTC"), ScheduleHash: "s", StartingDeadline: time.Hour,
		Concurrency: api.ConcurrencyAllow, Since: at(1, 0)}
	line := Timeline{ScheduleHash: "s", Last: at(3, 0), Skipped: []api.TimeSpan{{Before: at(1, 0)}}}
	var begun []string
	decide := func(now time.Time) {
		plan := Decide(d, Observed{Timeline: line}, now)
		line = plan.Timeline
		for _, a := range plan.Actions {
			if a.Verb == CreateRun {
				begun = append(begun, a.Due.ScheduledAt.Format("15:04"))
			}
		}
	}
	d.Over = at(20, 10)
	decide(at(20, 11))
	decide(at(20, 30)) // it runs
	for n := range 2 * mostUnknown {
		d.Over = at(20, 40).Add(time.Duration(n) * time.Hour / 4)
		decide(d.Over.Add(time.Minute))
	}
	for now := at(4, 11); now.Before(at(6, 1)); now = now.Add(time.Minute) {
		decide(now)
	}
	if !slices.Equal(begun, []string{"20:30", "05:30", "06:00"}) {
		t.Errorf("%v begin runs: %+v", begun, line)
	}
}

// TestALeaderAfterARestore: what ran before a restore runs no second time, also if the clock is set back after it. A
// clock that was ahead at the restore silences the cron job for an hour at most.
func TestALeaderAfterARestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLeaders(t, rapid.SampledFrom([]string{"* * * * *", "*/5 * * * *", "7-50/9 * * * *", "0 * * * *"}).
			Draw(t, "schedule"))
		l.keeps = true
		minutes := func(from, to int, what string) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(t, what)) * time.Minute
		}
		l.lead(0, minutes(1, 200, "before the backup"))
		backup := l.line
		l.lead(0, minutes(0, 200, "since the backup"))
		ahead := minutes(0, 400, "ahead")
		l.line, l.Over = backup, l.truth.Add(ahead)
		l.lead(ahead, minutes(1, 60, "wrong"))
		for range rapid.IntRange(0, 2).Draw(t, "leaders") {
			l.lead(minutes(-40, 300, "again"), time.Minute)
		}
		l.quiet = l.truth.Add(maxAhead)
		l.lead(0, 8*time.Hour)
	})
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
