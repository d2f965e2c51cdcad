package liveness

import (
	"testing"
	"time"
)

func TestHearing(t *testing.T) {
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		reason string
		beat   Beat
		life   time.Time
		last   time.Time
		want   Hearing
	}{
		"heard":                   {"its server runs", Beat{Server: "s1", Life: at(0)}, at(0), time.Time{}, Heard},
		"heard by a server alone": {"which has no name", Beat{Life: at(0)}, at(0), time.Time{}, Heard},
		"two beats are missing": {"its server says so", Beat{Server: "s1", Life: at(0), Last: at(30)}, at(0), at(30),
			Unheard},
		"by a server alone":  {"it says so too", Beat{Life: at(0), Last: at(30)}, at(0), at(30), Unheard},
		"its server is gone": {"none hears it", Beat{Server: "s1", Life: at(0)}, time.Time{}, time.Time{}, Unheard},
		"its server said so": {"before it went", Beat{Server: "s1", Life: at(0), Last: at(30)}, time.Time{}, at(30),
			Unheard},
		"its server was started again": {"and has not heard it yet", Beat{Server: "s1", Life: at(0)}, at(20), time.Time{},
			Awaited},
		"a server alone was started again": {"and has not heard it yet", Beat{Life: at(0)}, at(20), time.Time{}, Awaited},
		"a server that was alone is one of several": {"it was started again with a name", Beat{Life: at(0)}, time.Time{},
			time.Time{}, Awaited},
		"it was silent before that": {"which is not the server's silence", Beat{Life: at(0), Last: at(10)},
			at(20), at(10), Unheard},
		"its server has waited": {"in vain", Beat{Life: at(0), Unheard: true}, at(20), time.Time{}, Unheard},
		"in another zone": {"the same instant", Beat{Server: "s1", Life: at(5).In(time.FixedZone("", 3600))}, at(5),
			time.Time{}, Heard},
		"of an old server": {"which doesn't say who hears it", Beat{}, at(0), time.Time{}, Heard},
	} {
		t.Run(name, func(t *testing.T) {
			got, last := HearingOf(test.beat, test.life)
			if !last.Equal(test.last) || got != test.want {
				t.Errorf("%s: %d, %s", test.reason, got, last)
			}
		})
	}
}

func TestGrace(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		reason               string
		usual, longest, want time.Duration
	}{
		{"the defaults: two beats of 5 s", 5 * s, 8 * s, 10 * s},
		{"a node may beat less often than the server thinks", s, 8 * s, 8 * s},
		{"but it beats three times while its heartbeat lasts", 10 * s, 5 * s, 10 * s},
	} {
		if got := Grace(test.usual, test.longest); got != test.want {
			t.Errorf("%s: %s, want %s", test.reason, got, test.want)
		}
	}
}
