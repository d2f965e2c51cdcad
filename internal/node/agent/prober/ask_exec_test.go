package prober_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/runtime"
)

func TestExec(t *testing.T) {
	exec := api.Probe{Exec: &api.ExecProbe{Command: []string{"check"}}}
	for name, tc := range map[string]struct {
		command command
		want    probe.Result
	}{
		"passes":       {command{prints: "fine"}, passes},
		"fails":        {command{code: 3}, fails("check ended with exit code 3 and printed nothing")},
		"says why":     {command{code: 1, prints: "a\nno database\n"}, fails("check ended with exit code 1: no database")},
		"prints a key": {command{code: 1, prints: "bad password hunter2"}, fails("bad password [redacted]")},
		"prints a lot": {command{code: 1, prints: strings.Repeat("é", 10_000)},
			fails("exit code 1: its last line is longer than 8 KiB")},
		"many lines": {command{code: 1, prints: strings.Repeat("line\n", 10_000) + "last"}, fails("exit code 1: last")},
	} {
		t.Run(name, func(t *testing.T) {
			c := &container{command: &tc.command}
			c.want(t, exec, tc.want)
			if !tc.command.closed {
				t.Error("the command was not let go of")
			}
			if got := ask(t, c, exec); len(got.Message) > 310 {
				t.Errorf("a message of %d bytes", len(got.Message))
			}
		})
	}
	(&container{err: &runtime.RejectedError{Reason: "CommandNotFound", Detail: "no such program"}}).want(t, exec,
		fails("no such program"))
}

func TestExecThatGoesOnIsKilled(t *testing.T) {
	exec := api.Probe{Exec: &api.ExecProbe{Command: []string{"check"}}, Timeout: "10ms"}
	c := &container{command: &command{hangs: true}}
	c.want(t, exec, fails("check still ran after 10ms and was killed"))
	if !c.command.killed || !c.command.closed {
		t.Error("it was not killed")
	}
	c = &container{command: &command{hangs: true, killErr: errors.New("no such luck")}}
	c.want(t, exec, fails("check still ran after 10ms and goes on, for killing it failed: no such luck"))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c = &container{command: &command{hangs: true}}
	got := prober.Asking(c)(ctx, prober.Attempt{Probe: exec, Timeout: time.Hour})
	if !got.Void || !c.command.killed {
		t.Errorf("cut: %+v, killed %v", got, c.command.killed)
	}
}
