package cli

import (
	"strings"
	"testing"
)

// TestLastTry: what a program says at each of its starts is shown once.
func TestLastTry(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, lines, want string
		tries               int
	}{
		"one line":  {"it says one line at each start", "boom boom boom", "boom", 3},
		"two lines": {"it says two", "a b a b a b", "a b", 3},
		"cut":       {"the first lines of the first try are cut off", "b a b a b", "a b", 3},
		"numbers":   {"times differ", "12:00:01,dies 12:00:09,dies", "12:00:09,dies", 2},
		"once":      {"nothing repeats", "a b c", "a b c", 1},
		"end":       {"a repeated end doesn't count as a try", "a b b", "a b b", 1},
		"none":      {"it said nothing", "", "", 1},
	} {
		got, tries := lastTry(strings.Fields(tc.lines))
		if strings.Join(got, " ") != tc.want || tries != tc.tries {
			t.Errorf("%s: %s: %q, %d tries", name, tc.reason, got, tries)
		}
	}
}
