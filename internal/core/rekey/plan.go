package rekey

import (
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
)

// SettleTime is the time for which all parties use the new key before the last search for what the old one made: a
// write that was prepared with the old one may come so late.
const SettleTime = 2 * time.Minute

// Party is a server or a node, and what it says of the key.
type Party struct {
	Name string // as it is shown: "server tend-2", "node worker-1"
	// Knows are the fingerprints of the keys that it takes; Uses is of the one that it uses itself.
	Knows []string
	Uses  string
	// Next says what to do if it doesn't get any further by itself.
	Next string
}

// State holds what is known of a rotation.
type State struct {
	api.KeyRotation
	Parties []Party
	// What says what the old key made and nobody makes again by itself; empty if there is no such thing. Left is the
	// number that is left, -1 before the first search.
	What string
	Left int
	// UsedSince is the time from which every party uses the new key; zero if one doesn't.
	UsedSince, Now time.Time
}

// Plan returns the phase that follows, which is the same one while something is waited for, and what that is. The phase
// after the last one is empty: the rotation is over.
func Plan(s State) (next api.KeyPhase, waits []string) {
	var lacks func(Party) string
	switch s.Phase {
	case api.KeySpreads:
		next, lacks = api.KeyMoves, func(p Party) string {
			return unless(slices.Contains(p.Knows, s.New), "does not know the new key")
		}
	case api.KeyMoves:
		next, lacks = api.KeyIsForgotten, func(p Party) string {
			return unless(p.Uses == s.New, "does not use the new key")
		}
	case api.KeyIsForgotten:
		next, lacks = "", func(p Party) string {
			return unless(!slices.Contains(p.Knows, s.Old), "still takes the old key")
		}
	}
	for _, p := range s.Parties {
		if lack := lacks(p); lack != "" {
			waits = append(waits, p.Name+" "+lack+nextStep(p.Next))
		}
	}
	if s.Phase == api.KeyMoves && len(waits) == 0 && s.What != "" {
		waits = leftovers(s)
	}
	if len(waits) > 0 {
		return s.Phase, waits
	}
	return next, nil
}

// leftovers returns what is waited for once every party uses the new key.
func leftovers(s State) []string {
	switch settled := s.UsedSince.Add(SettleTime); {
	case s.Left < 0:
		return []string{"what the old key made is looked for"}
	case s.Left > 0:
		return []string{fmt.Sprintf("%s: %d", s.What, s.Left)}
	case s.UsedSince.IsZero() || s.Now.Before(settled):
		return []string{fmt.Sprintf("a last look at %s for what was written late", settled.UTC().Format(time.TimeOnly))}
	}
	return nil
}

func unless(is bool, text string) string {
	if is {
		return ""
	}
	return text
}

func nextStep(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
