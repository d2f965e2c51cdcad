package timetable

import (
	"errors"
	"testing"
	"time"
)

// FuzzSchedule parses arbitrary schedules and zones: an error has its type, and an accepted schedule has a due time
// after any moment.
func FuzzSchedule(f *testing.F) {
	for _, text := range []string{"* * * * *", "*/5 1-3 1,15 * mon-fri", "@daily", "0 0 29 2 *",
		"59 23 31 12 7", "0 0 31 2 *"} {
		f.Add(text, "Europe/Berlin", int64(1700000000))
	}
	f.Fuzz(func(t *testing.T, text, zone string, second int64) {
		s, err := Parse(text, zone)
		if err != nil {
			var field *FieldError
			var unknown *ZoneError
			if !errors.As(err, &field) && !errors.As(err, &unknown) {
				t.Fatalf("%q in %q: %v", text, zone, err)
			}
			return
		}
		const until = 4_000_000_000 // a moment of the next century
		after := time.Unix((second%until+until)%until, 0)
		next, ok := s.Next(after)
		if !ok || !next.After(after) {
			t.Fatalf("%q in %q is due at %s (%t) after %s", text, zone, next, ok, after)
		}
	})
}
