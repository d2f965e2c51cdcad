package cli

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestColours: additions are green, changes yellow, removals red; without colour there are no escape sequences.
func TestColours(t *testing.T) {
	for verb, code := range map[string]string{"create": "32", "shutdown": "31", "forget": "31", "resolve": "33"} {
		action := api.PlannedAction{Verb: verb, Text: verb + " a slot"}
		if got := paint(true).action(action); !strings.HasPrefix(got, "\x1b["+code+"m  ") ||
			!strings.HasSuffix(got, "a slot\x1b[0m") {
			t.Errorf("%s is painted %q", verb, got)
		}
		if got := paint(false).action(action); strings.Contains(got, "\x1b") || !strings.HasSuffix(got, verb+" a slot") {
			t.Errorf("%s without colour is %q", verb, got)
		}
	}
}
