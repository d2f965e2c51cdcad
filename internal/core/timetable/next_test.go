package timetable

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	_ "time/tzdata"
)

// zones change their clocks at 1, 2 and 3 o'clock and at midnight, by an hour and by half an hour, around a month, not
// at all, and once by a whole day.
var zones = []string{
	"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "America/Sao_Paulo", "Asia/Kathmandu",
	"UTC", "Pacific/Apia", "Asia/Tehran", "America/Havana", "Antarctica/Troll",
}

var (
	beginning = time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
	end       = time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
)

// TestNextIsExactOverTwentyYears walks every minute of 21 years in every zone.
func TestNextIsExactOverTwentyYears(t *testing.T) {
	texts := map[string]string{
		"30 2 * * *":         "a fixed time that clock changes skip and repeat",
		"0 0 * * *":          "midnight, which some zones skip",
		"*/20 * * * *":       "an interval",
		"15 */2 * * *":       "every other hour",
		"0 3 29 2 *":         "leap days",
		"10,50 1-3 1 3,10 0": "either day of month or week",
	}
	for _, name := range zones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone := load(t, name)
			var schedules []*Schedule
			var references []reference
			var expected []time.Time
			for text := range texts {
				s := parse(t, text, name)
				schedules, references = append(schedules, s), append(references, referenceOf(s))
				next, _ := s.Next(beginning)
				expected = append(expected, next)
			}
			walk(zone, references, beginning, end, func(i int, at time.Time) {
				if !at.Equal(expected[i]) {
					t.Fatalf("due %s, but Next said %s", at.In(zone), expected[i].In(zone))
				}
				expected[i], _ = schedules[i].Next(at)
			})
			for i, next := range expected {
				if !next.After(end) {
					t.Errorf("schedule %d: Next said %s, which never came", i, next.In(zone))
				}
			}
		})
	}
}

// referenceOf converts a parsed schedule to the reference implementation: for the test over all years, the texts are
// fixed.
func referenceOf(s *Schedule) reference {
	pick := func(bits uint64) (in numbers) {
		for n := range in {
			in[n] = bits>>n&1 == 1
		}
		return in
	}
	return reference{
		minutes: pick(s.minutes), hours: pick(s.hours), days: pick(s.days), months: pick(s.months), weekds: pick(s.weekdays),
		anyDay: s.anyDay, anyWeekday: s.anyWeekday, interval: !s.fixed,
	}
}

// TestNextAgreesWithTheReference draws schedules, zones and moments, most of them near a change of the clock.
func TestNextAgreesWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		r := drawReference(t)
		s, err := Parse(r.text, name)
		var never *FieldError
		if errors.As(err, &never) && never.Field == "" {
			return // such as 30 February
		}
		if err != nil {
			t.Fatal(err)
		}
		from := drawMoment(t, zone)
		until := from.Add(4 * 24 * time.Hour)
		at := from
		walk(zone, []reference{r}, from, until, func(_ int, due time.Time) {
			next, ok := s.Next(at)
			if !ok || !next.Equal(due) {
				t.Fatalf("%q in %s after %s: Next says %s, the reference %s", r.text, name, at.In(zone),
					next.In(zone), due.In(zone))
			}
			at = next
		})
		if next, ok := s.Next(at); ok && !next.After(until) {
			t.Fatalf("%q in %s after %s: Next says %s, the reference nothing", r.text, name, at.In(zone), next.In(zone))
		}
	})
}

func drawMoment(t *rapid.T, zone *time.Location) time.Time {
	at := beginning.Add(time.Duration(rapid.Int64Range(0, int64(end.Sub(beginning)/time.Second)).Draw(t,
		"moment")) * time.Second)
	if _, change := at.In(zone).ZoneBounds(); !change.IsZero() && change.Before(end) &&
		rapid.IntRange(0, 3).Draw(t, "near a change") > 0 {
		at = change.Add(-time.Duration(rapid.IntRange(0, 2*24*3600).Draw(t, "before")) * time.Second)
	}
	return at.UTC()
}

// TestUTCAgreesWithAnotherImplementation compares them in a zone without clock changes.
func TestUTCAgreesWithAnotherImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawReference(t)
		s, err := Parse(r.text, "UTC")
		if err != nil {
			return
		}
		other, err := cron.ParseStandard(r.text)
		if err != nil {
			t.Fatal(err)
		}
		if fields := strings.Fields(r.text); strings.HasPrefix(fields[2], "*/") || strings.HasPrefix(fields[4], "*/") {
			return // they differ in what a star with a step means for the days
		}
		at := drawMoment(t, time.UTC)
		for range 50 {
			next, _ := s.Next(at)
			if want := other.Next(at); !want.IsZero() && !next.Equal(want) {
				t.Fatalf("%q after %s: %s, the other says %s", r.text, at, next, want)
			}
			at = next
		}
	})
}

func TestClockChanges(t *testing.T) {
	for name, c := range map[string]struct {
		text, zone, after string
		want              []string
		reason            string
	}{
		"a skipped time": {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}, "it runs once, when the clock is set forward"},
		"two skipped times": {"15,45 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:15:00+02:00"}, "both are due at the same instant: one run"},
		"a repeated time": {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+02:00",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}, "it runs the first time alone"},
		"an interval over the gap": {"*/30 * * * *", "Europe/Berlin", "2026-03-29T01:15:00+01:00",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"}, "real time goes on"},
		"an interval over the repeat": {"0 * * * *", "Europe/Berlin", "2026-10-25T01:30:00+02:00",
			[]string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"},
			"each real hour has its run"},
		"half an hour": {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}, "the gap is half an hour long"},
		"midnight": {"0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00-03:00",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}, "the day begins at one"},
		"a lost day": {"0 12 * * *", "Pacific/Apia", "2011-12-29T13:00:00-10:00",
			[]string{"2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}, "30 December 2011 was left out"},
		"leap days": {"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00:00Z"}, "2100 has none"},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, c.text, c.zone)
			at := moment(t, c.after)
			for _, want := range c.want {
				next, ok := s.Next(at)
				if !ok || !next.Equal(moment(t, want)) {
					t.Fatalf("after %s: %s, want %s: %s", at, next.In(s.Zone()).Format(time.RFC3339), want, c.reason)
				}
				at = next
			}
		})
	}
}

func TestBetweenCountsWhatWasMissed(t *testing.T) {
	s := parse(t, "*/5 * * * *", "")
	from := moment(t, "2026-11-21T12:00:00Z")
	newest, count := s.Between(from, from.Add(17*time.Minute))
	if want := from.Add(15 * time.Minute); count != 3 || !newest.Equal(want) {
		t.Errorf("%d, %s; want 3, %s", count, newest, want)
	}
	newest, count = s.Between(from, from.Add(365*24*time.Hour+time.Minute))
	if want := from.Add(365 * 24 * time.Hour); count != MaxMissed || !newest.Equal(want) {
		t.Errorf("%d, %s; want %d, %s", count, newest, MaxMissed, want)
	}
	if newest, count = s.Between(from, from.Add(4*time.Minute)); count != 0 || !newest.IsZero() {
		t.Errorf("%d, %s; want nothing", count, newest)
	}
}

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func parse(t testing.TB, text, zone string) *Schedule {
	t.Helper()
	s, err := Parse(text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
