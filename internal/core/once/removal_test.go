package once

import (
	"testing"

	"tend.dev/tend/api"
)

// TestRemoval walks the table of what is done with a task that isn't wanted any more, and with one that is.
func TestRemoval(t *testing.T) {
	running, shutdown, removed := api.DesiredRunning, api.DesiredShutdown, api.DesiredRemoved
	reported := &api.TaskStatus{State: api.TaskRunning}
	for name, c := range map[string]struct {
		attempt        Attempt
		unwanted, kept Removal
	}{
		"waits for a node":              {Attempt{Desired: running}, Remove, Nothing},
		"its container may be made now": {Attempt{Desired: running, Placed: true}, Stop, Nothing},
		"runs":                          {Attempt{Desired: running, Placed: true, Status: reported}, Remove, Nothing},
		"stopped without a node":        {Attempt{Desired: shutdown}, Remove, Nothing},
		"stopped, not heard of yet":     {Attempt{Desired: shutdown, Placed: true}, Nothing, Nothing},
		"stopped and reported":          {Attempt{Desired: shutdown, Placed: true, Status: reported}, Remove, Nothing},
		"to be removed, still there":    {Attempt{Desired: removed, Placed: true, Status: reported}, Nothing, Nothing},
		"removed":                       {Attempt{Desired: removed, Placed: true}, Forget, Forget},
		"removed before it had a node":  {Attempt{Desired: removed}, Forget, Forget},
	} {
		if got := c.attempt.Removal(false); got != c.unwanted {
			t.Errorf("%s, unwanted: %v, want %v", name, got, c.unwanted)
		}
		if got := c.attempt.Removal(true); got != c.kept {
			t.Errorf("%s, wanted: %v, want %v", name, got, c.kept)
		}
	}
}
