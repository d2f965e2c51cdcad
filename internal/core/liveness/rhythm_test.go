package liveness

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each transcript has the seconds at which a node beats, and the seconds for which the server waits after each beat.
func TestRhythm(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		reason         string
		usual, longest time.Duration
		beats          []float64
		waits          string
	}{
		"the defaults": {"two beats of 5 s, once it is known that they are 5 s apart", 5 * s, 8 * s,
			[]float64{0, 5, 10, 15}, "16 16 10 10"},
		"more often than the server thinks": {"the server's own setting counts", 5 * s, 8 * s,
			[]float64{0, 1, 2, 3}, "16 16 10 10"},
		"less often than the server thinks": {"its own rhythm counts", s, 8 * s,
			[]float64{0, 5, 10, 15}, "16 16 10 10"},
		"a beat is late": {"the short gap after it says nothing of the rhythm", s, 8 * s,
			[]float64{0, 5, 10, 19.9, 20, 25, 30}, "16 16 10 16 16 10 10"},
		"it was started again": {"its first beat follows soon after the last one before", s, 8 * s,
			[]float64{0, 5, 10, 10.3, 15.3, 20.3}, "16 16 10 10 10 10"},
		"it was started again at once": {"nothing is known before it has beaten three times", s, 8 * s,
			[]float64{0, 0.3, 5.3, 10.3}, "16 16 10 10"},
		"after a long silence": {"that says nothing of the rhythm", 5 * s, 8 * s,
			[]float64{0, 5, 10, 90, 95, 100}, "16 16 10 16 16 10"},
		"twice at once": {"two beats at one instant are two", 5 * s, 8 * s,
			[]float64{0, 0, 0, 5}, "16 16 10 10"},
		"settings that don't fit": {"a node beats three times while its heartbeat lasts", 10 * s, 5 * s,
			[]float64{0, 5, 10}, "10 10 10"},
	} {
		t.Run(name, func(t *testing.T) {
			var r Rhythm
			var waits []string
			for _, at := range test.beats {
				r = r.Beat(epoch.Add(time.Duration(at * float64(s))))
				waits = append(waits, fmt.Sprint(r.Patience(test.usual, test.longest).Seconds()))
			}
			if got := strings.Join(waits, " "); got != test.waits {
				t.Errorf("%s: waits %s, want %s", test.reason, got, test.waits)
			}
		})
	}
}
