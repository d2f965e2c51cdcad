package cli

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestAttemptsThatEndedAreSaid: each once, before the output of the next, and none whose end isn't known.
func TestAttemptsThatEndedAreSaid(t *testing.T) {
	var said strings.Builder
	f := following{app: &app{streams: streams{err: &said}}}
	run := api.Run{ID: "r1", Attempts: []api.RunAttempt{{Pod: "a"}}}
	f.tell(run)
	run.Attempts = append(run.Attempts, api.RunAttempt{Pod: "b"})
	f.tell(run)
	if said.Len() > 0 {
		t.Errorf("of an attempt whose end isn't known it said %q", said.String())
	}
	run.Attempts[0].Reason, run.Attempts[0].Message = api.ReasonNodeLost, "its node is down"
	f.tell(run)
	f.tell(run)
	run.Attempts[1].Reason = "Exited"
	run.Attempts = append(run.Attempts, api.RunAttempt{Pod: "c"})
	f.tell(run)
	want := "attempt 1 of run r1 failed: its node is down; attempt 2 follows\nattempt 2 of run r1 failed: Exited; attempt 3 follows\n"
	if said.String() != want {
		t.Errorf("it said %q, want %q", said.String(), want)
	}
}
