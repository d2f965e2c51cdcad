package agent_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// TestErrorsDontShowTheEnvironment: values of the environment that the engine quotes reach neither a status nor the
// store.
func TestErrorsDontShowTheEnvironment(t *testing.T) {
	const text = `setenv "COLOUR=blue": invalid argument`
	for name, tc := range map[string]struct {
		reason string
		fault  error
	}{
		"plain":     {"words of the engine", errors.New(text)},
		"transient": {"its own type", &runtime.TransientError{Reason: "Busy", Detail: text}},
		"rejected":  {"its own type, and the end", &runtime.RejectedError{Reason: "InvalidEnv", Detail: text}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t)
				l.engine.Before(func(verb, _ string) error {
					if verb == "start" {
						return tc.fault
					}
					return nil
				})
				l.start()
				defer l.close()
				task := l.deploy(taskID(1), nil)
				l.settle()
				got := l.status(task)
				if !strings.Contains(got.Message, `"COLOUR=[redacted]": invalid argument`) {
					t.Errorf("%s: the message is %q", tc.reason, got.Message)
				}
				for _, txn := range l.store.reports() {
					for _, op := range txn.Do {
						if strings.Contains(string(op.Value), "blue") {
							t.Errorf("%s: %s shows the value", tc.reason, op.Key)
						}
					}
				}
			})
		})
	}
}

// TestPortsAreShown: messages name ports, and a variable that holds one hides none of them.
func TestPortsAreShown(t *testing.T) {
	const text = "8080 refuses connections; the program listens on 9000, 7777, 31337 and 4821"
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.env = `{"PORT":"8080","LISTEN":"9000","PIN":"4821","OTHER":"7777","RANGED":"31337"}`
		l.engine.Before(func(verb, _ string) error {
			if verb == "start" {
				return errors.New(text)
			}
			return nil
		})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), func(_ *api.Task, spec *api.DeploymentSpec) { spec.Ports = []string{"9000", "30000-40000"} })
		l.settle()
		const want = "8080 refuses connections; the program listens on 9000, [redacted], [redacted] and [redacted]"
		if got := l.status(task).Message; !strings.Contains(got, want) {
			t.Errorf("the message is %q, want %q in it", got, want)
		}
	})
}
