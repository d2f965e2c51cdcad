package cli

import (
	"testing"

	"tend.dev/tend/api"
)

// TestStepAfterARun: output that was shown is not named again, and a program without a limit isn't given a higher one.
func TestStepAfterARun(t *testing.T) {
	run := func(edit func(*api.Run)) api.Run {
		run := api.Run{ID: "m-1", Kind: api.KindJob, Scope: "prod", Name: "mail", State: api.RunFailed,
			Attempts: []api.RunAttempt{{Task: "a"}}}
		edit(&run)
		return run
	}
	killed := func(message string) api.Run {
		return run(func(r *api.Run) { r.Reason, r.Message = api.ReasonOOMKilled, message })
	}
	for name, c := range map[string]struct {
		run   api.Run
		shown bool
		want  string
	}{
		"shown":      {run(func(r *api.Run) {}), true, "correct the cause, then: tend run prod/mail"},
		"not shown":  {run(func(r *api.Run) {}), false, "tend logs prod/mail --run m-1; then: tend run prod/mail"},
		"its limit":  {killed("the program was killed at its memory limit of 32Mi"), true, "raise `resources.limits.memory`"},
		"no limit":   {killed("the program was killed for lack of memory"), true, "free memory on its node, or reserve what the program needs: `resources.reservations.memory`"},
		"never ran":  {run(func(r *api.Run) { r.Attempts, r.Next = nil, "correct `image`" }), true, "correct `image`"},
		"too long":   {run(func(r *api.Run) { r.Reason = "TimedOut" }), true, "raise `timeout` in the manifest, or make the program quicker"},
		"went well":  {run(func(r *api.Run) { r.State = api.RunSucceeded }), true, ""},
		"no attempt": {run(func(r *api.Run) { r.Attempts = nil }), true, "tend describe job prod/mail"},
	} {
		if got := runStep(c.run, c.shown); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
