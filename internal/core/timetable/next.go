package timetable

import "time"

// Next returns the first due time after an instant, in UTC; ok is false if there is none.
//
// A zone's time is a sequence of periods with one offset each. Within a period wall-clock time and real time advance
// together, so the next matching wall-clock time depends on the calendar alone. Only the transitions need rules, and
// only for schedules that name fixed times of day: what the clock skips at the beginning of a period is due at that
// instant, and what it repeats was due in the period before. Interval schedules take the wall clock as it is.
func (s *Schedule) Next(after time.Time) (at time.Time, ok bool) {
	from := floorMinute(after.Unix()) + 60
	limit := from + (horizonYears+1)*366*24*3600
	for from < limit {
		p := s.periodAt(from)
		if s.fixed && p.begins && p.start > after.Unix() && s.skipped(p) {
			return time.Unix(p.start, 0).UTC(), true
		}
		wall := p.wallFrom(from)
		if s.fixed && p.begins && p.before > p.offset {
			wall = max(wall, wallAt(p.start, p.before))
		}
		next, comes := s.nextCivil(wall)
		if !comes {
			return time.Time{}, false
		}
		due := int64(next)*60 - p.offset
		if !p.ends || due < p.end {
			return time.Unix(due, 0).UTC(), true
		}
		from = p.end
	}
	return time.Time{}, false
}

// period is a stretch of real time, [start, end) in Unix seconds, with one offset from UTC in seconds. before is the
// offset of the previous period.
type period struct {
	start, end     int64
	begins, ends   bool
	offset, before int64
}

func (s *Schedule) periodAt(unix int64) period {
	if s.zone == time.UTC {
		return period{}
	}
	t := time.Unix(unix, 0).In(s.zone)
	_, offset := t.Zone()
	p := period{offset: int64(offset)}
	start, end := t.ZoneBounds()
	if p.ends = !end.IsZero(); p.ends {
		p.end = end.Unix()
	}
	if p.begins = s.fixed && !start.IsZero(); p.begins { // other schedules don't depend on the previous period
		p.start = start.Unix()
		_, before := start.Add(-time.Second).Zone()
		p.before = int64(before)
	}
	return p
}

// skipped reports whether the clock skipped a matching wall-clock time at the beginning of the period.
func (s *Schedule) skipped(p period) bool {
	if p.before >= p.offset {
		return false
	}
	next, ok := s.nextCivil(wallAt(p.start, p.before))
	return ok && next < wallAt(p.start, p.offset)
}

// wallFrom returns the first whole wall-clock minute at or after an instant of the period.
func (p period) wallFrom(unix int64) civil { return wallAt(unix, p.offset) }

func wallAt(unix, offset int64) civil { return civil(floorDiv(unix+offset+59, 60)) }

func floorMinute(unix int64) int64 { return floorDiv(unix, 60) * 60 }

// Between returns the newest due time after one instant and not after another, and how many there are. Counting ends at
// MaxMissed; the newest is right however many there are.
func (s *Schedule) Between(after, until time.Time) (newest time.Time, count int) {
	for at := after; count < MaxMissed; count++ {
		next, ok := s.Next(at)
		if !ok || next.After(until) {
			return newest, count
		}
		newest, at = next, next
	}
	return s.last(newest, until), count
}

// MaxMissed is the most due times that are counted at once: a year without the server is 525,600 minutes.
const MaxMissed = 1000

// last returns the newest due time not after until; first is one.
func (s *Schedule) last(first, until time.Time) time.Time {
	newest := first
	for window := time.Minute; ; window *= 2 {
		from := until.Add(-window)
		if !from.After(first) {
			from = first
		}
		for next, ok := s.Next(from); ok && !next.After(until); next, ok = s.Next(next) {
			newest = next
		}
		if newest.After(first) || from.Equal(first) {
			return newest
		}
	}
}

// before returns the newest due time before one, searching no further back than a minute's schedule can lie.
func (s *Schedule) before(due time.Time) (time.Time, bool) {
	for window := time.Minute; window < horizonYears*366*24*time.Hour; window *= 2 {
		at, ok := s.Next(due.Add(-window))
		if !ok || !at.Before(due) {
			continue
		}
		for next, ok := s.Next(at); ok && next.Before(due); next, ok = s.Next(next) {
			at = next
		}
		return at, true
	}
	return time.Time{}, false
}
