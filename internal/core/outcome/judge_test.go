package outcome

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
)

var (
	webRef = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	asked  = api.Awaited{Ref: webRef, Revision: 10, Generation: 2}
)

// status is one whose conditions are given as Ready and Progressing.
func statusOf(observed int64, ready, progressing api.Condition) api.WorkloadStatus {
	ready.Type, progressing.Type = api.ConditionReady, api.ConditionProgressing
	return api.WorkloadStatus{ObservedRevision: observed, Conditions: []api.Condition{ready, progressing}}
}

// degraded adds that what Ready says is wrong.
func degraded(s api.WorkloadStatus) api.WorkloadStatus {
	c := s.Conditions[0]
	c.Type, c.Status = api.ConditionDegraded, api.ConditionTrue
	s.Conditions = append(s.Conditions, c)
	return s
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
	present := api.Object{Kind: api.KindDeployment, Metadata: api.Metadata{Generation: 2, Revision: 10}}
	deleting := api.Object{Kind: api.KindDeployment, Metadata: api.Metadata{Generation: 2, Revision: 11,
		DeletedAt: &now}}
	newer := api.Object{Kind: api.KindDeployment, Metadata: api.Metadata{Generation: 3, Revision: 12}}
	goneOf := api.Awaited{Ref: webRef, Revision: 11, Gone: true}

	cases := map[string]struct {
		reason  string
		wait    api.Awaited
		object  api.Object
		status  api.WorkloadStatus
		want    api.OutcomeState
		message string
	}{
		"NoStatus": {"not reconciled yet", asked, present, api.WorkloadStatus{}, api.OutcomePending,
			"waiting for the server to begin"},
		"OldStatus": {"what it says is of an older write, however good", asked, present,
			statusOf(9, yes("Converged"), no("Complete")), api.OutcomePending, "waiting"},
		"Converged": {"ready and nothing left to do", asked, present, statusOf(10, yes("Converged"), no("Complete")),
			api.OutcomeConverged, "Converged"},
		"Ending": {"ready, but old pods still stop", asked, present,
			statusOf(10, yes("Converged"), yes("Stopping")), api.OutcomePending, "Converged"},
		"Progressing": {"under way", asked, present, statusOf(10, no("Progressing"), yes("Progressing")),
			api.OutcomePending, "Progressing"},
		"Command": {"its release command failed: nothing changes without a person", asked, present,
			degraded(statusOf(10, no("ReleaseCommandFailed"), no("ReleaseCommandFailed"))), api.OutcomeHeld,
			"ReleaseCommandFailed"},
		"NoImage": {"the image can't be had: nothing changes without a person", asked, present,
			degraded(statusOf(10, no("ImageNotFound"), no("ResolvingImage"))), api.OutcomeFailed, "ImageNotFound"},
		"Unworkable": {"no bucket has the key: nothing changes without a person", asked, present,
			degraded(statusOf(10, no("SecretKeyMissing"), no("SecretKeyMissing"))), api.OutcomeFailed,
			"SecretKeyMissing"},
		"Unresolved": {"what it refers to may be on its way", asked, present,
			degraded(statusOf(10, no("UnresolvedReference"), no("UnresolvedReference"))), api.OutcomePending,
			"UnresolvedReference"},
		"NoImageAfterPause": {"the phase is of the rollout before", asked, present,
			inPhase(degraded(statusOf(10, no("ImageNotFound"), no("ResolvingImage"))), api.RolloutPaused),
			api.OutcomeFailed, "ImageNotFound"},
		"Paused": {"a slot failed", asked, present,
			inPhase(degraded(statusOf(10, no("CrashLoop"), no("Paused"))), api.RolloutPaused), api.OutcomeHeld,
			"CrashLoop"},
		"RolledBack": {"turned back", asked, present, inPhase(degraded(statusOf(10, no("RolledBack"),
			no("Complete"))), api.RolloutRolledBack), api.OutcomeHeld, "RolledBack"},
		"RollingBack": {"turning back takes its time", asked, present,
			inPhase(degraded(statusOf(10, no("RolledBack"), yes("RolledBack"))), api.RolloutRollingBack),
			api.OutcomePending, "RolledBack"},
		"BackUnready": {"what it turned back to isn't ready either", asked, present,
			inPhase(degraded(statusOf(10, no("RolledBack"), no("RolledBack"))), api.RolloutRollingBack),
			api.OutcomeHeld, "RolledBack"},
		"Frozen": {"only `tend start` brings it back", asked, present,
			inPhase(statusOf(10, no("Frozen"), no("Complete")), api.RolloutComplete), api.OutcomeConverged, "Frozen"},
		"Freezing": {"its pods are being stopped", asked, present,
			inPhase(statusOf(10, no("Frozen"), yes("Stopping")), api.RolloutComplete), api.OutcomePending, "Frozen"},
		"PartlyFrozen": {"the others run", asked, present,
			inPhase(statusOf(10, yes("Frozen"), no("Complete")), api.RolloutComplete), api.OutcomeConverged, "Frozen"},
		"EngineAway": {"an engine comes back", asked, present,
			inPhase(degraded(statusOf(10, no("EngineUnavailable"), yes("EngineUnavailable"))), api.RolloutComplete),
			api.OutcomePending, "EngineUnavailable"},
		"Superseded": {"the newest is waited for, and reported", asked, newer,
			statusOf(12, yes("Converged"), no("Complete")), api.OutcomeConverged, "of a newer change, generation 3"},
		"Deleted": {"another command deletes what was applied", asked, deleting,
			statusOf(10, yes("Converged"), no("Complete")), api.OutcomeFailed, "is deleting it"},
		"Deleting": {"a deletion takes its time", goneOf, deleting, statusOf(10, yes("Converged"), no("Complete")),
			api.OutcomePending, "stopping"},
		"Unseen": {"the answer is older than the deletion", goneOf, present, api.WorkloadStatus{},
			api.OutcomePending, "stopping"},
		"Recreated": {"it went, and another came", goneOf, newer, api.WorkloadStatus{}, api.OutcomeConverged,
			"created again"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := judge(tc.wait, tc.object, tc.status)
			if got.State != tc.want || !strings.Contains(got.Message, tc.message) {
				t.Errorf("%s: outcome %s, %q; want %s, %q", tc.reason, got.State, got.Message, tc.want, tc.message)
			}
		})
	}
}

// TestGiveUp: a reference waits only for the other objects that the command waits for.
func TestGiveUp(t *testing.T) {
	lacking := judged{Awaited: asked, lacks: true, Outcome: api.Outcome{State: api.OutcomePending,
		Message: "there is no deployment/prod/api"}}
	for name, tc := range map[string]struct {
		reason string
		beside []judged
		want   api.OutcomeState
	}{
		"alone": {"no object brings what it points at", nil, api.OutcomeFailed},
		"beside the good": {"nor do those that are done", []judged{{Outcome: api.Outcome{State: api.OutcomeConverged}}},
			api.OutcomeFailed},
		"beside others": {"each points at what isn't there", []judged{lacking}, api.OutcomeFailed},
		"beside pending": {"it may be that one", []judged{{Outcome: api.Outcome{State: api.OutcomePending}}},
			api.OutcomePending},
	} {
		t.Run(name, func(t *testing.T) {
			all := append([]judged{lacking}, tc.beside...)
			giveUp(all)
			if all[0].State != tc.want {
				t.Errorf("%s: outcome %s, want %s", tc.reason, all[0].State, tc.want)
			}
		})
	}
}

// TestExplain: what came to nothing says why, with the last lines of a container, and what to do.
func TestExplain(t *testing.T) {
	at := func(o api.Outcome) judged { return judged{Awaited: asked, Outcome: o} }
	paused := at(api.Outcome{State: api.OutcomeHeld, Reason: "CrashLoop", Message: "it ended\nlast line"})
	paused.turnsBack = true
	serving := paused
	serving.rollout = &api.RolloutStatus{TargetRelease: "v2", LastGoodRelease: "v1", Replicas: 3}
	serving.Pods = []api.Pod{{Release: "v1", Ready: true}, {Release: "v2", Ready: true}, {Release: "v1", Ready: true}}
	down := serving
	down.Pods = []api.Pod{{Release: "v1"}, {Release: "v2"}}
	kept := serving // after a rollback to v1, which became v3
	kept.rollout = &api.RolloutStatus{TargetRelease: "v4", LastGoodRelease: "v3", Replicas: 2}
	kept.Pods = []api.Pod{{Release: "v1", Ready: true}, {Release: "v3", Ready: true}, {Release: "v4"}}
	unseen := serving
	unseen.Reason = api.ReasonEngineUnavailable
	never := at(api.Outcome{State: api.OutcomeHeld, Reason: "NoRuntime", Message: fit.Never + "two needs"})
	for name, tc := range map[string]struct {
		of    judged
		cause string
		log   []string
		next  string
	}{
		"failed": {at(api.Outcome{State: api.OutcomeFailed, Reason: "ImageNotFound", Message: "no such image"}),
			"no such image", nil, "tend describe prod/web"},
		"paused": {paused, "paused: it ended", []string{"last line"},
			"tend describe prod/web; to go back: tend rollback prod/web"},
		"what serves meanwhile": {serving, "v1 still serves (2 of 3 ready); v2 is paused: it ended", []string{"last line"},
			"tend describe prod/web; to go back: tend rollback prod/web"},
		"nothing serves": {down, "v2 is paused, and no pod of before is ready: it ended", []string{"last line"},
			"tend describe prod/web; to go back: tend rollback prod/web"},
		"what serves runs under the name of an earlier release": {kept,
			"what ran before still serves (2 of 2 ready); v4 is paused: it ended", []string{"last line"},
			"tend describe prod/web; to go back: tend rollback prod/web"},
		"the engine doesn't answer": {unseen, "v2 is paused: it ended", []string{"last line"},
			"tend describe prod/web; to go back: tend rollback prod/web"},
		"no node that could be added would help": {never, "no node can run it: two needs", nil,
			"tend describe prod/web"},
		"the newest pod's lines, where the condition has none": {at(api.Outcome{State: api.OutcomeHeld,
			Reason: "RolledBack", Message: "v2 failed",
			Pods: []api.Pod{{CreatedAt: time.Unix(1, 0), LastLog: []string{"older"}},
				{CreatedAt: time.Unix(2, 0), LastLog: []string{"newest"}}}}),
			"rolled back: v2 failed", []string{"newest"}, "tend describe prod/web"},
		"converged": {at(api.Outcome{State: api.OutcomeConverged, Message: "3 of 3"}), "", nil, ""},
	} {
		tc.of.explain()
		if got := tc.of.Outcome; got.Cause != tc.cause || !slices.Equal(got.Log, tc.log) || got.Next != tc.next {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestRollbackOffered: only if there is a good release to return to.
func TestRollbackOffered(t *testing.T) {
	cases := map[string]struct {
		reason  string
		rollout *api.RolloutStatus
		want    bool
	}{
		"None":  {"no rollout yet", nil, false},
		"First": {"nothing was ever good", &api.RolloutStatus{TargetRelease: "v1"}, false},
		"Same": {"what is in force is the last good one",
			&api.RolloutStatus{TargetRelease: "v1", LastGoodRelease: "v1"}, false},
		"Second": {"the one before was good", &api.RolloutStatus{TargetRelease: "v2", LastGoodRelease: "v1"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := judge(asked, api.Object{Kind: api.KindDeployment}, api.WorkloadStatus{Rollout: tc.rollout})
			s.State, s.Reason = api.OutcomeHeld, "CrashLoop"
			s.explain()
			if got := strings.Contains(s.Next, "tend rollback"); got != tc.want {
				t.Errorf("%s: offered %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestJudgeIngress: the wait for an ingress lasts until it is served, or until a user has to act.
func TestJudgeIngress(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		degraded bool
		want     api.OutcomeState
	}{
		{"Opening", false, api.OutcomePending},
		{"CertificatePending", false, api.OutcomePending},
		{"NoReadyPods", false, api.OutcomePending},
		{"NoReadyPods", true, api.OutcomePending},
		{"NoService", true, api.OutcomePending},
		{"NotListening", true, api.OutcomeFailed},
		{"CertificateFailed", true, api.OutcomeFailed},
		{"InvalidSpec", true, api.OutcomeFailed},
		{"Paused", false, api.OutcomeConverged},
		{"Maintenance", false, api.OutcomeConverged},
		{"Maintenance", true, api.OutcomeConverged},
	} {
		object := api.Object{Kind: api.KindIngress, Metadata: api.Metadata{Generation: 2, Revision: 10}}
		status := api.WorkloadStatus{ObservedRevision: 10,
			Conditions: []api.Condition{{Type: api.ConditionReady, Status: api.ConditionFalse, Reason: tc.reason}}}
		if tc.degraded {
			status = degraded(status)
		}
		if got := judge(asked, object, status); got.State != tc.want || got.Reason != tc.reason {
			t.Errorf("%s, degraded %v: outcome %s, want %s", tc.reason, tc.degraded, got.State, tc.want)
		}
		status.ObservedRevision = 9
		if got := judge(asked, object, status); got.State != api.OutcomePending {
			t.Errorf("%s of an older write: outcome %s", tc.reason, got.State)
		}
	}
}

// TestGiveUpPods: an ingress waits for pods as long as any may get ready.
func TestGiveUpPods(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		idle   bool
		beside []judged
		want   api.OutcomeState
	}{
		"some alone": {"they may get ready yet", false, nil, api.OutcomePending},
		"some beside good": {"the report of the last one is on its way", false,
			[]judged{{Outcome: api.Outcome{State: api.OutcomeConverged}}}, api.OutcomePending},
		"none alone": {"no replica is wanted", true, nil, api.OutcomeConverged},
		"none beside more": {"they are about to be created", true,
			[]judged{{Outcome: api.Outcome{State: api.OutcomePending}}}, api.OutcomePending},
		"some beside wrong": {"their rollout was paused", false,
			[]judged{{Outcome: api.Outcome{State: api.OutcomeHeld}}}, api.OutcomeHeld},
		"none beside lack": {"they will not be created", true,
			[]judged{{lacks: true, Outcome: api.Outcome{State: api.OutcomePending}}}, api.OutcomeHeld},
	} {
		all := append([]judged{{lacks: true, idle: tc.idle,
			Outcome: api.Outcome{State: api.OutcomePending, Reason: api.ReasonNoReadyPods}}}, tc.beside...)
		if giveUp(all); all[0].State != tc.want {
			t.Errorf("%s: outcome %s, want %s: %s", name, all[0].State, tc.want, tc.reason)
		}
	}
}

// TestACauseIsGivenOnce: what Ready says of the failure and Degraded says again stands in the message once.
func TestACauseIsGivenOnce(t *testing.T) {
	for ready, want := range map[string]string{
		"2 of 2 replicas ready on v2: v3 failed": "2 of 2 replicas ready on v2: v3 failed, back on v2",
		"1 of 2 replicas ready":                  "1 of 2 replicas ready: v3 failed, back on v2",
		"1 of 2 replicas ready: as last seen":    "1 of 2 replicas ready: as last seen: v3 failed, back on v2",
		"v3 failed":                              "v3 failed, back on v2",
	} {
		var s judged
		s.blame(conditions{ready: api.Condition{Status: api.ConditionFalse, Message: ready},
			degraded: api.Condition{Status: api.ConditionTrue, Message: "v3 failed, back on v2"}})
		if s.Message != want {
			t.Errorf("%q: %q, want %q", ready, s.Message, want)
		}
	}
}
