package timetable

import (
	"fmt"
	"strings"
	"time"
)

// Schedule is a parsed schedule in its time zone. It is immutable. The sets are bits: bit n means that n is in the set.
type Schedule struct {
	minutes  uint64 // 0 to 59
	hours    uint64 // 0 to 23
	days     uint64 // 1 to 31
	months   uint64 // 1 to 12
	weekdays uint64 // 0 (Sunday) to 6
	// anyDay and anyWeekday are set if the field was a star, with or without a step.
	anyDay, anyWeekday bool
	// fixed is set if minute and hour name times of day, without a star or a step: such times survive clock changes.
	// Other schedules are intervals, and follow the wall clock.
	fixed bool
	zone  *time.Location
}

// Zone returns the schedule's time zone.
func (s *Schedule) Zone() *time.Location { return s.zone }

var macros = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// Parse parses a schedule of five fields, or a macro, in a time zone; an empty zone is UTC. Errors are *FieldError and
// *ZoneError.
func Parse(text, zone string) (*Schedule, error) {
	location, err := parseZone(zone)
	if err != nil {
		return nil, err
	}
	expression := strings.TrimSpace(text)
	if strings.HasPrefix(expression, "@") {
		named, ok := macros[strings.ToLower(expression)]
		if !ok {
			return nil, &FieldError{Text: text,
				Detail: "is not one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"}
		}
		expression = named
	}
	fields := strings.Fields(expression)
	if len(fields) != 5 {
		return nil, &FieldError{Text: text,
			Detail: fmt.Sprintf("has %d fields, want 5: minute hour day-of-month month day-of-week", len(fields))}
	}
	s := &Schedule{zone: location}
	var star [5]bool
	var stepped [5]bool
	for i, into := range []*uint64{&s.minutes, &s.hours, &s.days, &s.months, &s.weekdays} {
		set, err := columns[i].parse(fields[i])
		if err != nil {
			return nil, err
		}
		*into, star[i], stepped[i] = set.bits, set.star, set.stepped
	}
	s.weekdays = (s.weekdays | s.weekdays>>7) & 0x7f // 7 is Sunday too
	s.anyDay, s.anyWeekday = star[2], star[4]
	s.fixed = !star[0] && !star[1] && !stepped[0] && !stepped[1]
	if _, comes := s.nextDay(0); !comes {
		return nil, &FieldError{Text: text, Detail: "never comes due: there is no such day"}
	}
	return s, nil
}

// parseZone loads a time zone by its IANA name. It refuses "Local", which is another zone on every machine.
func parseZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &ZoneError{Name: name}
	}
	return location, nil
}

// FieldError is an error of a schedule.
type FieldError struct {
	// Field is the faulty field (minute, hour, day-of-month, month or day-of-week); empty if the whole schedule is.
	Field string
	// Text is the faulty part.
	Text   string
	Detail string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%q %s", e.Text, e.Detail)
	}
	return fmt.Sprintf("%s %q %s", e.Field, e.Text, e.Detail)
}

// ZoneError reports an unknown time zone.
type ZoneError struct{ Name string }

func (e *ZoneError) Error() string {
	return fmt.Sprintf("%q is not a time zone; use an IANA name such as Europe/Berlin or UTC", e.Name)
}
