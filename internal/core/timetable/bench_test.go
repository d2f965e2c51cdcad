package timetable

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkPlanTenThousand measures the decisions about 10,000 cron jobs in four time zones, none of them due.
func BenchmarkPlanTenThousand(b *testing.B) {
	desired := TenThousand(b)
	o := Observed{}
	now := epoch
	for b.Loop() {
		for i := range desired {
			o.Timeline = Timeline{ScheduleHash: "s", Last: now}
			if Decide(desired[i], o, now).After == 0 {
				b.Fatal("it never comes due")
			}
		}
	}
}

// TenThousand returns schedules as people write them.
func TenThousand(t testing.TB) []Desired {
	out := make([]Desired, 10_000)
	for i := range out {
		text := []string{"%d * * * *", "*/%d * * * *", "%d 3 * * *", "%d 4 * * 1", "%d 0 1 * *"}[i%5]
		s := parse(t, fmt.Sprintf(text, i%59+1), []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"}[i%4])
		out[i] = Desired{Schedule: s, ScheduleHash: "s", StartingDeadline: 5 * time.Minute}
	}
	return out
}
