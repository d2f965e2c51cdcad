package cli

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

var (
	webRef = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	asked  = wait{Awaited: api.Awaited{Ref: webRef, Revision: 10, Generation: 2}}
)

func TestVerdict(t *testing.T) {
	at := func(state api.OutcomeState, cause string, log ...string) seen {
		return seen{asked, api.Outcome{State: state, Cause: cause, Log: log, Next: "tend describe prod/web"}}
	}
	good, bad := at(api.OutcomeConverged, ""), at(api.OutcomeFailed, "no such image")
	paused := at(api.OutcomeHeld, "paused: it ended", "last line")
	replaced := at(api.OutcomeReplaced, "your v4 was replaced by root's apply")
	cases := map[string]struct {
		reason string
		all    []seen
		code   int
		parts  []string
	}{
		"Good": {"all converged", []seen{good, good}, exitOK, nil},
		"Failed": {"an error with the next step", []seen{good, bad}, exitError,
			[]string{"deployment/prod/web: no such image\n  Next: tend describe prod/web"}},
		"Paused": {"held, with the last lines", []seen{paused}, exitPaused,
			[]string{"paused: it ended\n  | last line\n  Next: "}},
		"ErrorWins": {"an error weighs more than a pause, both are reported", []seen{bad, paused}, exitError,
			[]string{"no such image", "it ended"}},
		"Replaced": {"a newer change came", []seen{good, replaced}, exitReplaced,
			[]string{"deployment/prod/web: your v4 was replaced"}},
		"PauseWins": {"what needs a person weighs more", []seen{replaced, paused}, exitPaused,
			[]string{"your v4 was replaced", "it ended"}},
		"ErrorWinsMore": {"and an error the most", []seen{replaced, bad, paused}, exitError, []string{"no such image"}},
		"ErrorWinsLast": {"whatever the order", []seen{paused, bad}, exitError, []string{"no such image", "it ended"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, text := codeOf(verdict(tc.all))
			if code != tc.code {
				t.Errorf("%s: code %d, want %d", tc.reason, code, tc.code)
			}
			for _, part := range tc.parts {
				if !strings.Contains(text, part) {
					t.Errorf("%s: %q is not in %q", tc.reason, part, text)
				}
			}
		})
	}
}

func codeOf(err error) (int, string) {
	var status *exitStatus
	if !errors.As(err, &status) {
		return exitOK, ""
	}
	return status.code, status.text
}

// TestDenied: a socket without permission to open is reported as such, and is not retried.
func TestDenied(t *testing.T) {
	err := &client.UnreachableError{Server: "unix:///x", Err: fmt.Errorf("dial: %w", syscall.EACCES)}
	if transient(err) || !strings.Contains(err.Error(), "use sudo") || strings.Contains(err.Error(), "start one") {
		t.Errorf("transient %v: %v", transient(err), err)
	}
	if !transient(&client.UnreachableError{Err: syscall.ECONNREFUSED}) {
		t.Error("a server that is being restarted is waited for")
	}
}

// TestTimedOut: the error has what is pending and what failed, and the messages of pods beside the counts.
func TestTimedOut(t *testing.T) {
	code, text := codeOf(timedOut([]seen{
		{asked, api.Outcome{State: api.OutcomeConverged, Message: "converged"}},
		{asked, api.Outcome{State: api.OutcomeFailed, Message: "no bucket has the key"}},
		{asked, api.Outcome{State: api.OutcomePending, Message: "0 of 1\nmore", Pods: []api.Pod{
			{Name: "prod-web.a", Message: "readiness probe: refused\nlog"}, {Name: "prod-web.b", Ready: true, Message: "well"},
		}}},
	}, time.Minute))
	if code != exitTimeout || !strings.Contains(text, "0 of 1\n    prod-web.a: readiness probe: refused") ||
		!strings.Contains(text, "no bucket has the key") {
		t.Errorf("code %d, %q", code, text)
	}
	for _, part := range []string{"converged", "more", "prod-web.b", "log"} {
		if strings.Contains(text, part) {
			t.Errorf("%q says %q", text, part)
		}
	}
}

// TestTimedOutHasANextStep: a pod that isn't ready is looked at in its output, or in its description before it runs.
func TestTimedOutHasANextStep(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		pod    api.Pod
		next   string
		want   string
	}{
		"runs":    {"it says why", api.Pod{State: api.TaskRunning}, "", "tend logs prod/web"},
		"starts":  {"it has no output yet", api.Pod{State: api.TaskPreparing}, "", "tend describe prod/web"},
		"known":   {"the server knows better", api.Pod{State: api.TaskRunning}, "wait", "wait"},
		"pod's":   {"the pod knows better", api.Pod{State: api.TaskRunning, Message: "m", Next: "mount it"}, "", "mount it"},
		"ready":   {"it causes none of the trouble", api.Pod{State: api.TaskRunning, Ready: true}, "", ""},
		"stopped": {"it causes none of the trouble", api.Pod{State: api.TaskFailed}, "", ""},
	} {
		tc.pod.Desired = api.DesiredRunning
		_, text := codeOf(timedOut([]seen{{asked,
			api.Outcome{State: api.OutcomePending, Message: "0 of 1", Next: tc.next, Pods: []api.Pod{tc.pod}}}}, time.Minute))
		if got := strings.Count(text, "Next: "); tc.want == "" && got != 0 ||
			tc.want != "" && (got != 1 || !strings.Contains(text, "Next: "+tc.want)) {
			t.Errorf("%s: %s: %q, want the step %q", name, tc.reason, text, tc.want)
		}
	}
}

// TestHealingIsNoRollout: events of pods that nobody asked to change don't speak of a rollout, and say how one ended.
func TestHealingIsNoRollout(t *testing.T) {
	down := []api.EventCondition{{Type: api.ConditionProgressing, Status: api.ConditionTrue,
		Message: "0 of 1 pods run v1: a pod ended (exit code 3) and runs again"}}
	for want, d := range map[string]api.EventData{
		"being healed: a pod ended (exit code 3) and runs again": {Kind: api.KindDeployment, Healing: true,
			OldPhase: "complete", Phase: "progressing", Conditions: down},
		"a pod is being healed": {Kind: api.KindDeployment, Healing: true,
			OldPhase: "complete", Phase: "progressing"},
		"all pods ready again": {Kind: api.KindDeployment, Healing: true,
			OldPhase: "progressing", Phase: "complete"},
		"rollout begins": {Kind: api.KindDeployment, OldPhase: "complete",
			Phase: "progressing"},
		"rollout paused": {Kind: api.KindDeployment, Healing: true,
			OldPhase: "progressing", Phase: "paused"},
	} {
		if got := statusText(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
