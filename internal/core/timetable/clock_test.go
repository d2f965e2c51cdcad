package timetable

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// leaders are servers whose clocks differ, one of which leads at a time. No run's record is kept: a due time that was
// dealt with is known by the timeline alone.
type leaders struct {
	t interface{ Fatalf(string, ...any) }
	Desired
	truth time.Time
	line  Timeline
	begun map[string]time.Time
	// keeps is set if the timeline is stored whenever it changes, else only together with an action, or if a due time is
	// ahead of the clock now, or no longer.
	keeps bool
	// quiet is the time until which due times may begin no run.
	quiet time.Time
}

func newLeaders(t interface{ Fatalf(string, ...any) }, schedule string) *leaders {
	parsed, err := Parse(schedule, "UTC")
	if err != nil {
		t.Fatalf("%v", err)
	}
	return &leaders{t: t, truth: epoch, begun: map[string]time.Time{}, Desired: Desired{
		Schedule: parsed, ScheduleHash: schedule, StartingDeadline: 5 * time.Minute,
		Concurrency: api.ConcurrencyAllow, Since: epoch,
	}}
}

// lead lets a server lead whose clock is ahead of the truth, or behind.
func (l *leaders) lead(ahead, lasts time.Duration) {
	from := l.truth
	for until := l.truth.Add(lasts); l.truth.Before(until); l.truth = l.truth.Add(20 * time.Second) {
		plan := Decide(l.Desired, Observed{Timeline: l.line}, l.truth.Add(ahead))
		for _, a := range plan.Actions {
			if a.Verb != CreateRun {
				continue
			}
			if first, twice := l.begun[a.Run]; twice {
				l.t.Fatalf("%s began at %s and again at %s", a.Run, first, l.truth)
			}
			l.begun[a.Run] = l.truth
		}
		if l.keeps || len(plan.Actions) > 0 || !plan.Timeline.Ahead.Equal(l.line.Ahead) {
			l.line = plan.Timeline
		}
	}
	if ahead != 0 {
		return
	}
	from = later(from, l.quiet)
	for due, ok := l.Schedule.Next(from); ok && due.Before(l.truth.Add(-time.Minute)); due, ok = l.Schedule.Next(due) {
		if _, began := l.begun[RunID(due)]; !began {
			l.t.Fatalf("%s came while a server with the right clock led, from %s to %s, and began no run: %+v", due,
				from, l.truth, l.line)
		}
	}
}

// TestALeaderWithAWrongClock: each due time that comes while a server with the right clock leads has begun its run, by
// then or earlier; none begins two.
func TestALeaderWithAWrongClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLeaders(t, rapid.SampledFrom([]string{"* * * * *", "*/5 * * * *", "7-50/9 * * * *", "0 * * * *",
			"30 */6 * * *"}).Draw(t, "schedule"))
		l.keeps = rapid.Bool().Draw(t, "keeps")
		for range rapid.IntRange(1, 4).Draw(t, "leaders") {
			l.lead(0, time.Duration(rapid.IntRange(1, 200).Draw(t, "right"))*time.Minute)
			ahead := rapid.SampledFrom([]int{1, 7, 61, 180, 1500, -1, -20, -200}).Draw(t, "ahead")
			l.lead(time.Duration(ahead)*time.Minute, time.Duration(rapid.IntRange(1, 90).Draw(t, "wrong"))*time.Minute)
		}
		l.lead(0, 8*time.Hour)
	})
}

// TestALeaderWhoseClockWasAhead: what it passed over runs in time, also what came while it led and is not too late;
// what it began early runs no second time.
func TestALeaderWhoseClockWasAhead(t *testing.T) {
	l := newLeaders(t, "*/5 * * * *")
	l.lead(0, 12*time.Minute)
	l.lead(3*time.Hour, 9*time.Minute) // its clock shows 15:12 to 15:21
	l.lead(0, 6*time.Hour)
	for due, want := range map[string]string{
		"12:10": "12:10", "12:15": "never", "12:20": "12:21", "12:25": "12:25", "15:10": "12:12", "15:15": "12:15",
		"15:20": "12:20", "15:25": "15:25", "17:00": "17:00",
	} {
		at, err := time.Parse("2006-01-02 15:04", "2026-11-21 "+due)
		if err != nil {
			t.Fatal(err)
		}
		got := "never"
		if began, ok := l.begun[RunID(at)]; ok {
			got = began.Format("15:04")
		}
		if got != want {
			t.Errorf("the due time %s began its run at %s, want %s", due, got, want)
		}
	}
	if !l.line.Ahead.IsZero() {
		t.Errorf("once the clock has reached it, the mark is still there: %s", fmt.Sprint(l.line))
	}
}
