package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	t.Setenv("A", "a b")
	for text, want := range map[string][]string{
		`echo  one`:                          {"echo", "one"},
		`echo "$A" '$A'`:                     {"echo", "a b", "$A"},
		`sh -c 'echo '\''x'\''' && sh -c ''`: {"sh", "-c", "echo 'x'", "&&", "sh", "-c", ""},
	} {
		if diff := cmp.Diff(want, words(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestRun: commands after a failed one don't run.
func TestRun(t *testing.T) {
	for text, want := range map[string]int{"echo a": 0, "exit 3 && exit 4": 3, "sh -c 'exit 5' && exit 6": 5,
		"echo a && exit 7": 7, "rm x": 127} {
		if got := run(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
