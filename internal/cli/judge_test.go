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
	asked  = wait{ref: webRef, revision: 10, generation: 2}
)

// status is one whose conditions are given as Ready and Progressing.
func statusOf(observed int64, ready, progressing api.Condition) api.WorkloadStatus {
	ready.Type, progressing.Type = api.ConditionReady, api.ConditionProgressing
	return api.WorkloadStatus{ObservedRevision: observed, Conditions: []api.Condition{ready, progressing}}
}

func inPhase(s api.WorkloadStatus, phase api.RolloutPhase) api.WorkloadStatus {
	s.Rollout = &api.RolloutStatus{Phase: phase}
	return s
}

func TestJudge(t *testing.T) {
	yes := func(reason string) api.Condition {
		return api.Condition{Status: api.ConditionTrue, Reason: reason, Message: "message of " + reason}
	}
	no := func(reason string) api.Condition {
		return api.Condition{Status: api.ConditionFalse, Reason: reason, Message: "message of " + reason}
	}
	now := time.Now()
	present := api.Object{Metadata: api.Metadata{Generation: 2, Revision: 10}}
	deleting := api.Object{Metadata: api.Metadata{Generation: 2, Revision: 11, DeletedAt: &now}}
	newer := api.Object{Metadata: api.Metadata{Generation: 3, Revision: 12}}
	goneOf := wait{ref: webRef, revision: 11, gone: true}

	cases := map[string]struct {
		reason  string
		wait    wait
		object  api.Object
		status  api.WorkloadStatus
		want    outcome
		message string
	}{
		"NoStatus":    {"no controller has looked yet", asked, present, api.WorkloadStatus{}, pending, "waiting for the controller"},
		"OldStatus":   {"what it says is of an older write, however good", asked, present, statusOf(9, yes("Converged"), no("Complete")), pending, "waiting"},
		"Converged":   {"ready and nothing left to do", asked, present, statusOf(10, yes("Converged"), no("Complete")), converged, "Converged"},
		"Ending":      {"ready, but old pods still stop", asked, present, statusOf(10, yes("Converged"), yes("Stopping")), pending, "Converged"},
		"Progressing": {"under way", asked, present, statusOf(10, no("Progressing"), yes("Progressing")), pending, "Progressing"},
		"Command":     {"its release command failed: nothing changes without a person", asked, present, statusOf(10, no("ReleaseCommandFailed"), no("ReleaseCommandFailed")), held, "ReleaseCommandFailed"},
		"NoImage":     {"the image can't be had: nothing changes without a person", asked, present, statusOf(10, no("ImageNotFound"), no("ResolvingImage")), failed, "ImageNotFound"},
		"Unworkable":  {"no bucket has the key: nothing changes without a person", asked, present, statusOf(10, no("SecretKeyMissing"), no("SecretKeyMissing")), failed, "SecretKeyMissing"},
		"Unresolved":  {"what it refers to may be on its way", asked, present, statusOf(10, no("UnresolvedReference"), no("UnresolvedReference")), pending, "UnresolvedReference"},
		"NoImageAfterPause": {"the phase is of the rollout before", asked, present,
			inPhase(statusOf(10, no("ImageNotFound"), no("ResolvingImage")), api.RolloutPaused), failed, "ImageNotFound"},
		"Paused":       {"a slot failed", asked, present, inPhase(statusOf(10, no("CrashLoop"), no("Paused")), api.RolloutPaused), held, "CrashLoop"},
		"RolledBack":   {"turned back", asked, present, inPhase(statusOf(10, no("RolledBack"), no("Complete")), api.RolloutRolledBack), held, "RolledBack"},
		"RollingBack":  {"turning back takes its time", asked, present, inPhase(statusOf(10, no("RolledBack"), yes("RolledBack")), api.RolloutRollingBack), pending, "RolledBack"},
		"BackUnready":  {"what it turned back to isn't ready either", asked, present, inPhase(statusOf(10, no("RolledBack"), no("RolledBack")), api.RolloutRollingBack), held, "RolledBack"},
		"Frozen":       {"only `tend start` brings it back", asked, present, inPhase(statusOf(10, no("Frozen"), no("Complete")), api.RolloutComplete), converged, "Frozen"},
		"Freezing":     {"its pods are being stopped", asked, present, inPhase(statusOf(10, no("Frozen"), yes("Stopping")), api.RolloutComplete), pending, "Frozen"},
		"PartlyFrozen": {"the others run", asked, present, inPhase(statusOf(10, yes("Frozen"), no("Complete")), api.RolloutComplete), converged, "Frozen"},
		"EngineAway":   {"an engine comes back", asked, present, inPhase(statusOf(10, no("EngineUnavailable"), no("Complete")), api.RolloutComplete), pending, "EngineUnavailable"},
		"Superseded":   {"the newest is waited for, and told of", asked, newer, statusOf(12, yes("Converged"), no("Complete")), converged, "of a newer change, generation 3"},
		"Deleted":      {"somebody deletes what was applied", asked, deleting, statusOf(10, yes("Converged"), no("Complete")), failed, "is deleting it"},
		"Deleting":     {"a deletion takes its time", goneOf, deleting, statusOf(10, yes("Converged"), no("Complete")), pending, "stopping"},
		"Unseen":       {"the answer is older than the deletion", goneOf, present, api.WorkloadStatus{}, pending, "stopping"},
		"Recreated":    {"it went, and another came", goneOf, newer, api.WorkloadStatus{}, converged, "created anew"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := judge(tc.wait, tc.object, tc.status)
			if got.outcome != tc.want || !strings.Contains(got.message, tc.message) {
				t.Errorf("%s: outcome %d, %q; want %d, %q", tc.reason, got.outcome, got.message, tc.want, tc.message)
			}
		})
	}
}

// TestGiveUp: a reference waits only for the other objects that the command waits for.
func TestGiveUp(t *testing.T) {
	lacking := seen{wait: asked, lacks: true, message: "there is no deployment/prod/api"}
	for name, tc := range map[string]struct {
		reason string
		beside []seen
		want   outcome
	}{
		"alone":           {"nobody brings what it points at", nil, failed},
		"beside the good": {"nor do those that are done", []seen{{outcome: converged}}, failed},
		"beside others":   {"each points at what isn't there", []seen{lacking}, failed},
		"beside pending":  {"it may be that one", []seen{{}}, pending},
	} {
		t.Run(name, func(t *testing.T) {
			looks := append([]seen{lacking}, tc.beside...)
			giveUp(looks)
			if looks[0].outcome != tc.want {
				t.Errorf("%s: outcome %d, want %d", tc.reason, looks[0].outcome, tc.want)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	good := seen{wait: asked, outcome: converged, message: "3 of 3"}
	bad := seen{wait: asked, outcome: failed, reason: "ImageNotFound", message: "no such image"}
	paused := seen{wait: asked, outcome: held, reason: "CrashLoop", message: "it ended\nlast line", turnsBack: true}
	back := seen{wait: asked, outcome: held, reason: "RolledBack", message: "v2 failed",
		pods: []api.Pod{{CreatedAt: time.Unix(1, 0), LastLog: []string{"older"}}, {CreatedAt: time.Unix(2, 0), LastLog: []string{"newest"}}}}
	cases := map[string]struct {
		reason string
		looks  []seen
		code   int
		parts  []string
	}{
		"Good":          {"all converged", []seen{good, good}, exitOK, nil},
		"Failed":        {"an error with the next step", []seen{good, bad}, exitError, []string{"deployment/prod/web: no such image", "tend describe prod/web"}},
		"Paused":        {"held, with the last lines", []seen{paused}, exitPaused, []string{"paused: it ended", "\n  | last line", "tend rollback prod/web"}},
		"RolledBack":    {"the lines of the newest pod where the condition has none", []seen{back}, exitPaused, []string{"rolled back: v2 failed", "\n  | newest"}},
		"ErrorWins":     {"an error weighs more than a pause, both are told", []seen{bad, paused}, exitError, []string{"no such image", "it ended"}},
		"ErrorWinsLast": {"whatever the order", []seen{paused, bad}, exitError, []string{"no such image", "it ended"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, text := outcomeOf(verdict(tc.looks))
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

// TestRollbackOffered: only if there is a good release to return to.
func TestRollbackOffered(t *testing.T) {
	cases := map[string]struct {
		reason  string
		rollout *api.RolloutStatus
		want    bool
	}{
		"None":   {"no rollout yet", nil, false},
		"First":  {"nothing was ever good", &api.RolloutStatus{TargetRelease: "v1"}, false},
		"Same":   {"what is in force is the last good one", &api.RolloutStatus{TargetRelease: "v1", LastGoodRelease: "v1"}, false},
		"Second": {"the one before was good", &api.RolloutStatus{TargetRelease: "v2", LastGoodRelease: "v1"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := judge(asked, api.Object{}, api.WorkloadStatus{Rollout: tc.rollout})
			s.outcome, s.reason = held, "CrashLoop"
			if got := strings.Contains(trouble(s), "tend rollback"); got != tc.want {
				t.Errorf("%s: offered %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
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

func TestTimedOut(t *testing.T) {
	code, text := outcomeOf(timedOut([]seen{
		{wait: asked, outcome: converged, message: "done"}, {wait: asked, message: "1 of 3\nmore"},
	}, time.Minute))
	if code != exitTimeout || !strings.Contains(text, "1 of 3") || strings.Contains(text, "done") || strings.Contains(text, "more") {
		t.Errorf("code %d, %q", code, text)
	}
}

func outcomeOf(err error) (int, string) {
	var status *exitStatus
	if !errors.As(err, &status) {
		return exitOK, ""
	}
	return status.code, status.text
}

// TestJudgeIngress: the wait for an ingress lasts until it is served, or until a user has to act.
func TestJudgeIngress(t *testing.T) {
	for reason, want := range map[string]outcome{
		"Opening": pending, "CertificatePending": pending, "NoReadyPods": pending, "NoService": pending, "NotListening": failed,
		"CertificateFailed": failed, "InvalidSpec": failed, "Paused": converged, "Maintenance": converged,
	} {
		object := api.Object{Kind: api.KindIngress, Metadata: api.Metadata{Generation: 2, Revision: 10}}
		status := api.WorkloadStatus{ObservedRevision: 10, Conditions: []api.Condition{{Type: api.ConditionReady, Status: api.ConditionFalse, Reason: reason}}}
		if got := judge(asked, object, status); got.outcome != want || got.reason != reason {
			t.Errorf("%s: outcome %d, want %d", reason, got.outcome, want)
		}
		status.ObservedRevision = 9
		if got := judge(asked, object, status); got.outcome != pending {
			t.Errorf("%s of an older write: outcome %d", reason, got.outcome)
		}
	}
}

// TestGiveUpPods: an ingress waits for pods as long as any may get ready.
func TestGiveUpPods(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		idle   bool
		beside []seen
		want   outcome
	}{
		"some alone":        {"they may get ready yet", false, nil, pending},
		"some beside good":  {"the report of the last one is on its way", false, []seen{{outcome: converged}}, pending},
		"none alone":        {"nobody wants any", true, nil, converged},
		"none beside more":  {"they are about to be created", true, []seen{{}}, pending},
		"some beside wrong": {"their rollout was paused", false, []seen{{outcome: held}}, held},
		"none beside lack":  {"they will not be created", true, []seen{{lacks: true}}, held},
	} {
		looks := append([]seen{{lacks: true, reason: noReadyPods, idle: tc.idle}}, tc.beside...)
		if giveUp(looks); looks[0].outcome != tc.want {
			t.Errorf("%s: outcome %d, want %d: %s", name, looks[0].outcome, tc.want, tc.reason)
		}
	}
}
