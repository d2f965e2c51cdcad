package rekey_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
)

var began = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func party(name, uses string, knows ...string) rekey.Party {
	return rekey.Party{Name: name, Uses: uses, Knows: knows, Next: "start it"}
}

// TestPlan: a phase lasts as long as one party lacks its part of it, and says which one and what to do.
func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		phase   api.KeyPhase
		parties []rekey.Party
		left    int
		used    time.Duration // how long every party has used the new key; -1 if one doesn't
		want    api.KeyPhase
		waits   string
	}{
		"nobody knows it": {api.KeySpreads, []rekey.Party{party("a", "old", "old")}, -1, -1, api.KeySpreads,
			"a does not know the new key: start it"},
		"one has never said": {api.KeySpreads, []rekey.Party{party("a", "old", "old", "new"), {Name: "b"}}, -1, -1,
			api.KeySpreads, "b does not know the new key"},
		"all know it": {api.KeySpreads, []rekey.Party{party("a", "old", "old", "new")}, -1,
			-1, api.KeyMoves, ""},
		"one uses the old one": {api.KeyMoves,
			[]rekey.Party{party("a", "new", "new", "old"), party("b", "old", "old", "new")}, 0, -1, api.KeyMoves,
			"b does not use the new key: start it"},
		"not looked for": {api.KeyMoves, []rekey.Party{party("a", "new", "new", "old")}, -1, 0, api.KeyMoves,
			"what the old key made is looked for"},
		"values are left": {api.KeyMoves, []rekey.Party{party("a", "new", "new", "old")}, 3, time.Hour,
			api.KeyMoves, "values still sealed with the old key: 3"},
		"a late write may come": {api.KeyMoves, []rekey.Party{party("a", "new", "new", "old")}, 0,
			rekey.SettleTime - time.Second, api.KeyMoves, "a last look at 12:00:01 for what was written late"},
		"nothing is left": {api.KeyMoves, []rekey.Party{party("a", "new", "new", "old")}, 0, rekey.SettleTime,
			api.KeyIsForgotten, ""},
		"one still takes it": {api.KeyIsForgotten,
			[]rekey.Party{party("a", "new", "new"), party("b", "new", "new", "old")}, 0, time.Hour, api.KeyIsForgotten,
			"b still takes the old key: start it"},
		"it is forgotten":           {api.KeyIsForgotten, []rekey.Party{party("a", "new", "new")}, 0, time.Hour, "", ""},
		"there is no party to wait": {api.KeySpreads, nil, -1, -1, api.KeyMoves, ""},
	} {
		s := rekey.State{KeyRotation: api.KeyRotation{Phase: c.phase, Old: "old", New: "new"}, Parties: c.parties,
			Left: c.left, What: "values still sealed with the old key", Now: began}
		if c.used >= 0 {
			s.UsedSince = began.Add(-c.used)
		}
		next, waits := rekey.Plan(s)
		if next != c.want || strings.Join(waits, "; ") != c.waits {
			t.Errorf("%s: %q, %q; want %q, %q", name, next, waits, c.want, c.waits)
		}
	}
}

// TestNobodyIsLockedOut: whatever order parties do their parts in, and however stale what they said is, no party ever
// uses a key that another one doesn't take.
func TestNobodyIsLockedOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 4).Draw(t, "parties")
		real := make([]rekey.Party, count)
		said := make([]rekey.Party, count)
		for i := range real {
			real[i] = party(string(rune('a'+i)), "old", "old")
			said[i] = real[i]
		}
		s := rekey.State{KeyRotation: api.KeyRotation{Phase: api.KeySpreads, Old: "old", New: "new"}, Now: began,
			UsedSince: began.Add(-time.Hour)}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch i := rapid.IntRange(0, count-1).Draw(t, "who"); rapid.IntRange(0, 2).Draw(t, "what") {
			case 0: // it does its part of the phase
				switch s.Phase {
				case api.KeySpreads:
					real[i].Knows = []string{"old", "new"}
				case api.KeyMoves:
					real[i].Uses = "new"
				default:
					real[i].Knows = []string{"new"}
				}
			case 1: // it says what it has
				said[i] = real[i]
			case 2:
				s.Parties = said
				if s.Phase, _ = rekey.Plan(s); s.Phase == "" {
					return
				}
			}
			for _, user := range real {
				for _, taker := range real {
					if !strings.Contains(strings.Join(taker.Knows, " "), user.Uses) {
						t.Fatalf("%s uses %s, which %s doesn't take: %+v", user.Name, user.Uses, taker.Name, real)
					}
				}
			}
		}
	})
}
