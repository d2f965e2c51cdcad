package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"tend.dev/tend/api"
)

func TestReport(t *testing.T) {
	stopped := &interruptedError{signal: syscall.SIGINT}
	cases := map[string]struct {
		reason string
		err    error
		code   int
		text   string
	}{
		"Good":  {"nothing to say", nil, 0, ""},
		"Plain": {"any error is 1", errors.New("no"), 1, "error: no\n"},
		"Problem": {"a server's with its next step", &api.Problem{Title: "T", Detail: "what", Next: "do this"}, 1,
			"error: what\n  do this\n"},
		"Status": {"its own code", &exitStatus{code: 3, text: "late"}, 3, "error: late\n"},
		"Quiet":  {"a code alone says nothing more", &exitStatus{code: 7}, 7, ""},
		"Joined": {"a code among several errors", errors.Join(&exitStatus{code: 3, text: "late"}, errors.New("missing")),
			3, "error: late\nmissing\n"},
		"Interrupted": {"who pressed Ctrl-C knows", stopped, 130, ""},
		"Terminated":  {"as a shell has it", &interruptedError{signal: syscall.SIGTERM}, 143, ""},
		"WhileWaiting": {"what goes on is worth showing",
			fmt.Errorf("%w; the server carries on", stopped), 130, "error: interrupted; the server carries on\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if code := report(tc.err, &out); code != tc.code || out.String() != tc.text {
				t.Errorf("%s: %d %q, want %d %q", tc.reason, code, out.String(), tc.code, tc.text)
			}
		})
	}
	if !errors.Is(stopped, context.Canceled) {
		t.Error("a server that is asked to stop takes it for a fault")
	}
}
