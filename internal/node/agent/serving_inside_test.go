package agent

import (
	"testing"

	"tend.dev/tend/api"
)

// TestARestartInPlaceDoesNotDrain: a container that is restarted because it isn't alive wouldn't finish its requests,
// and one that is to run again keeps its place.
func TestARestartInPlaceDoesNotDrain(t *testing.T) {
	a := &Agent{serving: &serving{}}
	if got := a.drainTime(t.Context(), api.Task{Desired: api.DesiredRunning}, false); got != 0 {
		t.Errorf("it drains for %s", got)
	}
}
