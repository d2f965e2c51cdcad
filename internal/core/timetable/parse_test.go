package timetable

import (
	"errors"
	"strings"
	"testing"
)

func TestSchedulesAreRead(t *testing.T) {
	for text, same := range map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily":    "0 0 * * *",
		"@midnight": "0 0 * * *", "@hourly": "0 * * * *", "@Daily": "0 0 * * *",
		"0 0 * * 7": "0 0 * * 0", "0 0 * * sun": "0 0 * * 0", "0 0 * * FRI-SUN": "0 0 * * 0,5,6",
		"0 0 * * 5-7":         "0 0 * * 0,5,6",
		"0 0 * jan-mar,Dec *": "0 0 * 1,2,3,12 *", " 1,2  3-5 * * * ": "1-2 3,4,5 * * *", "0-10/5 * * * *": "0,5,10 * * * *",
		"00 08 * * 1-5": "0 8 * * mon-fri",
	} {
		got, want := sets(parse(t, text, "")), sets(parse(t, same, ""))
		if got != want {
			t.Errorf("%q is not the same as %q: %v, %v", text, same, got, want)
		}
	}
}

func TestSchedulesAreRefused(t *testing.T) {
	for text, want := range map[string]struct{ field, says string }{
		"":                    {"", "has 0 fields, want 5"},
		"* * * *":             {"", "has 4 fields"},
		"0 0 0 * * *":         {"", "has 6 fields"},
		"@reboot":             {"", "is not one of @hourly"},
		"@every 5m":           {"", "is not one of @hourly"},
		"60 * * * *":          {"minute", "is outside 0 to 59"},
		"* 24 * * *":          {"hour", "is outside 0 to 23"},
		"* * 0 * *":           {"day-of-month", "is outside 1 to 31"},
		"* * * 13 *":          {"month", "is outside 1 to 12"},
		"* * * foo *":         {"month", "is neither a number nor one of jan"},
		"* * * * 8":           {"day-of-week", "is outside 0 to 7"},
		"* * * * sunday":      {"day-of-week", "is neither a number nor one of sun"},
		"5/15 * * * *":        {"minute", "write 5-59/15, or 5 alone"},
		"*/0 * * * *":         {"minute", "has a step that is not a number from 1 to 59"},
		"*/x * * * *":         {"minute", "has a step"},
		"*/ * * * *":          {"minute", "has a step"},
		"10-5 * * * *":        {"minute", "ends before it begins"},
		"1,,2 * * * *":        {"minute", "is not a number"},
		"+1 * * * *":          {"minute", "is not a number"},
		"-1 * * * *":          {"minute", "is not a number"},
		"1-2-3 * * * *":       {"minute", "is not a number"},
		"? * * * *":           {"minute", "is not a number"},
		"* * L * *":           {"day-of-month", "is not a number"},
		"0 0 30 2 *":          {"", "never comes due"},
		"0 0 31 4,6,9,11 *":   {"", "never comes due"},
		"TZ=UTC * * * *":      {"minute", "is not a number"},
		"99999999999 * * * *": {"minute", "is outside 0 to 59"},
	} {
		_, err := Parse(text, "")
		var fault *FieldError
		if !errors.As(err, &fault) || fault.Field != want.field || !strings.Contains(fault.Error(), want.says) {
			t.Errorf("%q: %v; want field %q, %q", text, err, want.field, want.says)
		}
	}
}

func TestZones(t *testing.T) {
	for _, zone := range []string{"", "UTC", "Europe/Berlin", "Etc/GMT+3"} {
		if _, err := Parse("@daily", zone); err != nil {
			t.Errorf("%q: %v", zone, err)
		}
	}
	for _, zone := range []string{"Local", "Mars/Olympus", "../etc/passwd", "europe berlin"} {
		var unknown *ZoneError
		if _, err := Parse("@daily", zone); !errors.As(err, &unknown) {
			t.Errorf("%q: %v; want a ZoneError", zone, err)
		}
	}
}

func sets(s *Schedule) [7]any {
	return [7]any{s.minutes, s.hours, s.days, s.months, s.weekdays, s.anyDay, s.anyWeekday}
}
