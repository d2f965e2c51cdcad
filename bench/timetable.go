package main

import (
	"context"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"tend.dev/tend/internal/core/timetable"
)

// schedules measures one decision about each of 10,000 cron jobs that wait for their next due time, in four time zones;
// and the computation of the due time alone, against that of robfig's parser.
func schedules(_ context.Context, _ *harness) error {
	const n = 10_000
	now := time.Now()
	desired := make([]timetable.Desired, n)
	others := make([]cron.Schedule, n)
	for i := range desired {
		text := fmt.Sprintf([]string{"%d * * * *", "*/%d * * * *", "%d 3 * * *", "%d 4 * * 1", "%d 0 1 * *"}[i%5], i%59+1)
		zone := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"}[i%4]
		schedule, err := timetable.Parse(text, zone)
		if err != nil {
			return fmt.Errorf("parse %q: %w", text, err)
		}
		desired[i] = timetable.Desired{Schedule: schedule, ScheduleHash: text, StartingDeadline: time.Minute}
		if others[i], err = cron.ParseStandard("CRON_TZ=" + zone + " " + text); err != nil {
			return fmt.Errorf("parse %q: %w", text, err)
		}
	}
	took := repeated(planFor, func() {
		for i := range desired {
			line := timetable.Timeline{ScheduleHash: desired[i].ScheduleHash, Last: now}
			timetable.Decide(desired[i], timetable.Observed{Timeline: line}, now)
		}
	})
	duration("schedules-10000", took)
	ours := repeated(planFor, func() {
		for i := range desired {
			desired[i].Schedule.Next(now)
		}
	})
	theirs := repeated(planFor, func() {
		for i := range others {
			others[i].Next(now)
		}
	})
	ratio("schedules-next", float64(ours)/float64(theirs), "robfig")
	return nil
}
