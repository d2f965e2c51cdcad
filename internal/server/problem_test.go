package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/store"
)

// A change that the store didn't answer is answered by 504, with a hint what to check for this verb: it may or may not
// be applied.
func TestAnUnknownOutcomeSaysWhatToCheck(t *testing.T) {
	timeout := fmt.Errorf("commit run: etcdserver: request timed out: %w", store.ErrUnknownOutcome)
	for name, c := range map[string]struct {
		err  error
		next string
	}{
		"run":     {&verbs.UnknownOutcomeError{Site: "run", Err: timeout}, "`tend runs` lists the run"},
		"apply":   {&verbs.UnknownOutcomeError{Site: "apply", Err: timeout}, "apply it again"},
		"other":   {&verbs.UnknownOutcomeError{Site: "freeze", Err: timeout}, "check before you repeat"},
		"no verb": {timeout, "check before you repeat"},
	} {
		t.Run(name, func(t *testing.T) {
			problem := problemOf(c.err)
			if problem.Status != http.StatusGatewayTimeout || problem.Title != api.OutcomeUnknown ||
				!strings.Contains(problem.Next, c.next) ||
				!strings.Contains(problem.Detail, "is unknown") {
				t.Errorf("%+v; want 504 %s with %q", problem, api.OutcomeUnknown, c.next)
			}
		})
	}
}

// TestAFullStoreSaysWhatFreesIt: no free disk space helps a database that has reached its quota, and no deletion a disk
// that others have filled.
func TestAFullStoreSaysWhatFreesIt(t *testing.T) {
	for next, err := range map[string]error{"tend delete": store.ErrFull, "free disk space": store.ErrNoSpace} {
		problem := problemOf(fmt.Errorf("apply: %w", &store.SpaceError{Cause: err, Text: "server n1 takes no writes"}))
		if problem.Status != http.StatusInsufficientStorage || !strings.Contains(problem.Next, next) ||
			problem.Detail != "apply: server n1 takes no writes" {
			t.Errorf("%v: %+v, want a step with %q", err, problem, next)
		}
	}
}
