package daemon

import (
	"crypto/tls"
	"testing"
	"time"
)

// TestRenewing: a certificate is shown until a third of its life is left, until another authority issues, and not once
// the clock is set back to before its issue.
func TestRenewing(t *testing.T) {
	start := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	now, by, issues := start, "a", 0
	certificate := renewing(func() time.Time { return now }, func() string { return by },
		func(time.Duration) (tls.Certificate, error) { issues++; return tls.Certificate{}, nil })
	for _, step := range []struct {
		reason string
		at     time.Duration
		by     string
		issues int
	}{
		{"the first handshake", 0, "a", 1},
		{"the next one", time.Minute, "a", 1},
		{"much later", 59 * 24 * time.Hour, "a", 1},
		{"a third of its life is left", 60 * 24 * time.Hour, "a", 2},
		{"another authority", 60 * 24 * time.Hour, "b", 3},
		{"the clock was ahead", time.Hour, "b", 4},
		{"and is right now", 2 * time.Hour, "b", 4},
	} {
		now, by = start.Add(step.at), step.by
		if _, err := certificate(); err != nil || issues != step.issues {
			t.Errorf("%s: %d were issued, want %d: %v", step.reason, issues, step.issues, err)
		}
	}
}
