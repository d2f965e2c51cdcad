package api

import "time"

// Duration is a length of time as people write it ("2s", "5m"). It is kept as text so that a spec stays as written.
type Duration string

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
