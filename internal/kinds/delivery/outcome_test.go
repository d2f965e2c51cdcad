package delivery

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storefault"
)

// TestAnAttemptIsRecordedOnce: the record of an attempt was written, or is written later, but its writer got no answer.
func TestAnAttemptIsRecordedOnce(t *testing.T) {
	for name, fate := range map[string]storefault.Fate{
		"applied at once":    storefault.Unanswered,
		"applied after more": storefault.Late(1),
		"applied in time":    storefault.LateBy(time.Minute),
		"never applied":      storefault.Lost,
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(l *harness) {
				l.receive["down.example"] = answers(503)
				l.object(api.Webhook{URL: "https://down.example"})
				commits := 0
				l.fate = func(store.Txn) storefault.Fate {
					if commits++; commits == 1 {
						return fate
					}
					return storefault.Answered
				}
				l.deliver("d", 0)
				l.after(2 * time.Minute)
				d := l.delivery("d")
				if calls := len(l.calls()); d.State != api.DeliveryFailed || d.Attempts != calls || calls != 4 {
					t.Errorf("%s after %d attempts, called %d times; want failed after 4", d.State, d.Attempts, calls)
				}
			})
		})
	}
}
