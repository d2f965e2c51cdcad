package outcome

import (
	"testing"

	"tend.dev/tend/api"
)

// TestNextAfterAPause: of three steps the log is left out.
func TestNextAfterAPause(t *testing.T) {
	paused := judged{Awaited: asked, turnsBack: true, Outcome: api.Outcome{State: api.OutcomeHeld, Reason: "CrashLoop",
		Next: "correct the cause and apply again; more output: tend logs prod/web"}}
	if got := nextStep(paused); got != "correct the cause and apply again; to go back: tend rollback prod/web" {
		t.Error(got)
	}
}

// TestOneCount: while no pod runs the release, the count of ready ones is enough.
func TestOneCount(t *testing.T) {
	for cause, want := range map[string]string{
		"0 of 2 pods run v2: node n1 has no disk space left": "node n1 has no disk space left",
		"1 of 2 pods run v2: node n1 has no disk space left": "1 of 2 pods run v2: node n1 has no disk space left",
		"0 of 2 pods run v2":       "0 of 2 pods run v2",
		"node n1: it is not ready": "node n1: it is not ready",
	} {
		if got := uncounted(cause); got != want {
			t.Errorf("%q becomes %q", cause, got)
		}
	}
}
