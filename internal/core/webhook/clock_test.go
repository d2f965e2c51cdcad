package webhook

import (
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestAWrongClockDelaysNoTry: the clock was three hours ahead when the next try was set.
func TestAWrongClockDelaysNoTry(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for attempts := range Attempts - 1 {
		d := Next(api.Delivery{State: api.DeliveryPending, Attempts: attempts}, Answer{Status: 503}, now, 1)
		if rests := Rests(d, now); rests <= 0 || rests != d.NextTryAt.Sub(now) {
			t.Errorf("after %d attempts it rests for %s", attempts+1, rests)
		}
		if rests := Rests(d, now.Add(-3*time.Hour)); rests != 0 {
			t.Errorf("after %d attempts, once the clock is right, it rests for %s", attempts+1, rests)
		}
	}
}
