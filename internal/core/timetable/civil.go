package timetable

import "math/bits"

// civil is a wall-clock time: minutes since 1970-01-01 00:00 of a calendar that knows no zones.
type civil int64

const (
	hourMinutes = 60
	dayMinutes  = 24 * hourMinutes
)

// date is a day of the proleptic Gregorian calendar.
type date struct{ year, month, day int }

// dateOf returns the day that many days after 1970-01-01 (Howard Hinnant's civil_from_days).
func dateOf(days int64) date {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d := date{year: int(yoe + era*400), month: int(mp + 3), day: int(doy - (153*mp+2)/5 + 1)}
	if mp >= 10 {
		d.month -= 12
		d.year++
	}
	return d
}

// daysIn returns the length of a month.
func (d date) daysIn() int {
	switch d.month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if d.year%4 == 0 && (d.year%100 != 0 || d.year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// weekday returns the day of the week that many days after 1970-01-01, a Thursday; 0 is Sunday.
func weekday(days int64) int { return int(((days+4)%7 + 7) % 7) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// horizonYears is the number of years in which a wall-clock time is searched: from one 29 February to the next there
// may be eight years.
const horizonYears = 9

// nextCivil returns the first matching wall-clock time at or after from; ok is false if there is none.
func (s *Schedule) nextCivil(from civil) (at civil, ok bool) {
	days := floorDiv(int64(from), dayMinutes)
	minute := int(int64(from) - days*dayMinutes)
	if s.matchesDay(days, dateOf(days)) {
		if found, ok := s.nextInDay(minute); ok {
			return civil(days*dayMinutes + int64(found)), true
		}
	}
	if days, ok = s.nextDay(days + 1); !ok {
		return 0, false
	}
	first, _ := s.nextInDay(0) // hours and minutes are never empty
	return civil(days*dayMinutes + int64(first)), true
}

// nextInDay returns the first matching minute of a day at or after from.
func (s *Schedule) nextInDay(from int) (minute int, ok bool) {
	hour := from / hourMinutes
	if s.hours>>hour&1 == 1 {
		if rest := s.minutes >> (from % hourMinutes); rest != 0 {
			return from + bits.TrailingZeros64(rest), true
		}
	}
	rest := s.hours >> (hour + 1)
	if rest == 0 {
		return 0, false
	}
	hour += 1 + bits.TrailingZeros64(rest)
	return hour*hourMinutes + bits.TrailingZeros64(s.minutes), true
}

// nextDay returns the first matching day at or after days.
func (s *Schedule) nextDay(days int64) (int64, bool) {
	d := dateOf(days)
	for last := d.year + horizonYears; d.year <= last; {
		if s.months>>d.month&1 == 0 {
			days += int64(d.daysIn() - d.day + 1)
			d = date{d.year, d.month + 1, 1}
			if d.month > 12 {
				d.year, d.month = d.year+1, 1
			}
			continue
		}
		if s.matchesDay(days, d) {
			return days, true
		}
		days++
		if d.day++; d.day > d.daysIn() {
			d = dateOf(days)
		}
	}
	return 0, false
}

// matchesDay reports whether a day matches. If both the day of the month and that of the week are restricted, either is
// enough.
func (s *Schedule) matchesDay(days int64, d date) bool {
	if s.months>>d.month&1 == 0 {
		return false
	}
	inMonth, inWeek := s.days>>d.day&1 == 1, s.weekdays>>weekday(days)&1 == 1
	if s.anyDay || s.anyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}
