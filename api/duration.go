package api

import (
	"strings"
	"time"
)

// Duration is a length of time as people write it ("2s", "5m"). It is kept as text so that a spec stays as written.
type Duration string

// Storable reports whether a time that a user gave can be stored and added to: RFC 3339 ends with the year 9999, in any
// zone.
func Storable(at time.Time) bool { return at.UTC().Year() >= 1 && at.UTC().Year() <= 9998 }

// ShortDuration writes a duration without the units that are 0: 24h, not 24h0m0s.
func ShortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Or parses the duration; an empty or unparseable one is the fallback (validation refuses the latter beforehand).
func (d Duration) Or(fallback time.Duration) time.Duration {
	if d == "" {
		return fallback
	}
	parsed, err := time.ParseDuration(string(d))
	if err != nil {
		return fallback
	}
	return parsed
}
