package cli

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		since  time.Time
		want   string
	}{
		"Never":   {"no time is a dash", time.Time{}, "-"},
		"Future":  {"clocks differ", now.Add(time.Minute), "0s"},
		"Now":     {"just now", now, "0s"},
		"Seconds": {"seconds up to two minutes", now.Add(-119 * time.Second), "119s"},
		"Minutes": {"minutes from there", now.Add(-2 * time.Minute), "2m"},
		"Hours":   {"hours from two hours", now.Add(-2 * time.Hour), "2h"},
		"Days":    {"days from two days", now.Add(-48 * time.Hour), "2d"},
		"Long":    {"days for ever", now.AddDate(-1, 0, 0), "365d"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := age(tc.since, now); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
