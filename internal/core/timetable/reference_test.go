package timetable

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// reference is another implementation of a schedule: sets of numbers, and the policy on clock changes as one sentence
// about minutes. It walks minute by minute and uses no periods, no bits and no arithmetic of days.
type reference struct {
	text                                 string
	minutes, hours, days, months, weekds numbers
	anyDay, anyWeekday, interval         bool
}

// numbers is a set of them.
type numbers [60]bool

// shows reports whether the schedule names a wall-clock time, given as a time in UTC.
func (r *reference) shows(wall time.Time) bool {
	if !r.minutes[wall.Minute()] || !r.hours[wall.Hour()] || !r.months[int(wall.Month())] {
		return false
	}
	day, weekday := r.days[wall.Day()], r.weekds[int(wall.Weekday())]
	if r.anyDay || r.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// walk calls due for every due instant in (from, until], in order, of every schedule. It begins two days earlier, so
// that it knows what the wall clock has shown.
func walk(zone *time.Location, schedules []reference, from, until time.Time, due func(i int, at time.Time)) {
	begin := from.Add(-48 * time.Hour).Truncate(time.Minute)
	shown := wallOf(begin, zone) // the latest time the wall clock has shown
	var named numbers            // minutes that some schedule names: the others are skipped
	for _, r := range schedules {
		for n, in := range r.minutes {
			named[n] = named[n] || in
		}
	}
	for at := begin.Add(time.Minute); !at.After(until); at = at.Add(time.Minute) {
		wall := wallOf(at, zone)
		if onward := wall.Sub(shown) == time.Minute; onward && !named[wall.Unix()/60%60] {
			shown = wall
			continue
		}
		for i := range schedules {
			r := &schedules[i]
			if !at.After(from) {
				break
			}
			if r.interval {
				if r.shows(wall) {
					due(i, at)
				}
				continue
			}
			// A fixed time is due when the wall clock first shows it or something later.
			for missing := shown.Add(time.Minute); !missing.After(wall); missing = missing.Add(time.Minute) {
				if r.shows(missing) {
					due(i, at)
					break
				}
			}
		}
		if wall.After(shown) {
			shown = wall
		}
	}
}

func wallOf(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// drawReference returns a schedule and its text.
func drawReference(t *rapid.T) reference {
	r := reference{}
	minute, star, step := drawField(t, "minute", 0, 59, nil)
	hour, hourStar, hourStep := drawField(t, "hour", 0, 23, nil)
	day, dayStar, _ := drawField(t, "day", 1, 31, nil)
	month, _, _ := drawField(t, "month", 1, 12, columns[3].names)
	weekday, weekdayStar, _ := drawField(t, "weekday", 0, 6, columns[4].names)
	r.minutes, r.hours, r.days, r.months, r.weekds = minute.set, hour.set, day.set, month.set, weekday.set
	r.anyDay, r.anyWeekday = dayStar, weekdayStar
	r.interval = star || step || hourStar || hourStep
	r.text = strings.Join([]string{minute.text, hour.text, day.text, month.text, weekday.text}, " ")
	return r
}

type drawn struct {
	set  numbers
	text string
}

func drawField(t *rapid.T, label string, low, high int, names []string) (d drawn, star, step bool) {
	name := func(n int) string {
		if names != nil && rapid.Bool().Draw(t, label+" by name") {
			return names[n-low]
		}
		return fmt.Sprint(n)
	}
	switch rapid.IntRange(0, 5).Draw(t, label+" form") {
	case 0, 1:
		star, d.text = true, "*"
		fill(&d.set, low, high, 1)
	case 2:
		by := rapid.IntRange(1, high).Draw(t, label+" step")
		star, step, d.text = true, true, fmt.Sprintf("*/%d", by)
		fill(&d.set, low, high, by)
	case 3:
		first := rapid.IntRange(low, high).Draw(t, label+" first")
		last := rapid.IntRange(first, high).Draw(t, label+" last")
		by := rapid.IntRange(1, high).Draw(t, label+" step")
		step, d.text = true, fmt.Sprintf("%s-%s/%d", name(first), name(last), by)
		fill(&d.set, first, last, by)
	default:
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, label+" entries") {
			n := rapid.IntRange(low, high).Draw(t, label)
			d.set[n] = true
			parts = append(parts, name(n))
		}
		d.text = strings.Join(parts, ",")
	}
	return d, star, step
}

func fill(set *numbers, first, last, by int) {
	for n := first; n <= last; n += by {
		set[n] = true
	}
}
