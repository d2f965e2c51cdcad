package notify

import (
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestAWrongClockHoldsNoMessage: the clock was three hours ahead when a failure was seen, and when the last message was
// sent.
func TestAWrongClockHoldsNoMessage(t *testing.T) {
	now, ahead := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 28, 15, 0, 0, 0, time.UTC)
	for name, known := range map[string]api.SinkCauses{
		"a failure": {Open: []api.SinkCause{{UID: "u", WaitingSince: ahead}}},
		"one that was mentioned": {Open: []api.SinkCause{{UID: "u", WaitingSince: now.Add(-time.Hour),
			MessageAt: ahead.Add(24 * time.Hour)}}},
		"one after another message": {Open: []api.SinkCause{{UID: "u", WaitingSince: now.Add(-time.Hour)}},
			MessageAt: ahead.Add(24 * time.Hour)},
		"failures that aren't named": {More: 3, MoreSince: ahead},
	} {
		if m, ok := Next(known, SettingsOf(nil), now); !ok || len(m.Failed)+m.More == 0 {
			t.Errorf("%s: %+v, %v", name, m, ok)
		}
	}
}
