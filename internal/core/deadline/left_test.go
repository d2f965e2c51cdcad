package deadline

import (
	"testing"
	"time"
)

func TestLeft(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		at   time.Time
		want time.Duration
	}{
		"no instant":                   {time.Time{}, 0},
		"it has come":                  {now.Add(-time.Second), 0},
		"it is now":                    {now, 0},
		"it comes":                     {now.Add(10 * time.Second), 10 * time.Second},
		"as late as can be":            {now.Add(30 * time.Second), 30 * time.Second},
		"of a clock that is a bit off": {now.Add(80 * time.Second), 80 * time.Second},
		"of a clock that is wrong":     {now.Add(3 * time.Hour), 0},
		"of the end of time":           {time.Date(292277026596, 1, 1, 0, 0, 0, 0, time.UTC), 0},
	} {
		if got := Left(test.at, now, 30*time.Second); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
