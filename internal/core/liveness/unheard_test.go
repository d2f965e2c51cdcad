package liveness

import (
	"testing"
	"time"
)

func TestUnheard(t *testing.T) {
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		reason  string
		beat    Beat
		life    time.Time
		last    time.Time
		unheard bool
	}{
		"heard":                 {"its server runs", Beat{Server: "s1", Life: at(0)}, at(0), time.Time{}, false},
		"two beats are missing": {"its server says so", Beat{Server: "s1", Life: at(0), Last: at(30)}, at(0), at(30), true},
		"by a server alone":     {"which has no presence", Beat{Last: at(30)}, time.Time{}, at(30), true},
		"its server is gone":    {"none hears it", Beat{Server: "s1", Life: at(0)}, time.Time{}, time.Time{}, true},
		"its server said so":    {"before it went", Beat{Server: "s1", Last: at(30)}, time.Time{}, at(30), true},
		"its server was started again": {"and has not heard it yet", Beat{Server: "s1", Life: at(0)}, at(20), time.Time{},
			true},
		"in another zone": {"the same instant", Beat{Server: "s1", Life: at(5).In(time.FixedZone("", 3600))}, at(5),
			time.Time{}, false},
		"of an old server":        {"which doesn't say who hears it", Beat{}, at(0), time.Time{}, false},
		"heard by a server alone": {"which has no presence", Beat{}, time.Time{}, time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			last, unheard := Unheard(test.beat, test.life)
			if !last.Equal(test.last) || unheard != test.unheard {
				t.Errorf("%s: %v, %s", test.reason, unheard, last)
			}
		})
	}
}
