package clusterjob

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestAnAnswerNeverSpeaksForANewerWrite: a forced apply changes no generation, and yet an earlier report doesn't answer
// it.
func TestAnAnswerNeverSpeaksForANewerWrite(t *testing.T) {
	w := readyWorld(t)
	w.now = w.now.Add(time.Minute)
	w.object.Metadata.Stamps = map[string]string{api.StampPull: "n1"}
	w.control(t)
	w.wantCondition(t, "forced", api.ConditionReady, api.ConditionUnknown, api.ReasonWaitingForCluster)
	w.event(t, 101, w.now, ready(api.ConditionTrue, "Meanwhile"))
	w.control(t)
	w.wantCondition(t, "not applied yet", api.ConditionReady, api.ConditionUnknown, api.ReasonWaitingForCluster)
	w.now = w.now.Add(time.Second)
	w.settle(t)
	w.wantCondition(t, "applied", api.ConditionReady, api.ConditionUnknown, api.ReasonNotReported)
	w.event(t, 101, w.now, ready(api.ConditionFalse, "HelmReleaseFailed"))
	w.control(t)
	w.wantCondition(t, "answered", api.ConditionReady, api.ConditionFalse, "HelmReleaseFailed")
}

// TestWhatTheClusterSaysWhileTheJobIsTracked: the conditions that come with a status count before the job has a result.
func TestWhatTheClusterSaysWhileTheJobIsTracked(t *testing.T) {
	applied := ResourceOf(newWorld().object.Ref())
	applied.UID, applied.Generation = "k1", 101
	for name, tc := range map[string]struct {
		conditions            []pull.Condition
		ready                 string
		degraded, progressing string
	}{
		"installing": {[]pull.Condition{{Type: "Ready", Status: "Unknown", Reason: "Reconciling"},
			{Type: "Reconciling", Status: "True", Reason: "HelmReleaseInstalling"}},
			"Unknown/Reconciling", "False/AsExpected", "True/HelmReleaseInstalling"},
		"failed": {[]pull.Condition{{Type: "Ready", Status: "False", Reason: "HelmReleaseFailed"},
			{Type: "Degraded", Status: "True", Reason: "HelmReleaseFailed"},
			{Type: "Reconciling", Status: "False", Reason: "Stable"}},
			"False/HelmReleaseFailed", "True/HelmReleaseFailed", "False/Complete"},
		"blocked": {[]pull.Condition{{Type: "Ready", Status: "False", Reason: "HelmReleaseFailed"},
			{Type: "Blocked", Status: "True", Reason: "MissingSecret", Message: "create it"}},
			"False/HelmReleaseFailed", "True/MissingSecret", "False/Complete"},
		"not ready yet": {[]pull.Condition{{Type: "Ready", Status: "False", Reason: "Waiting"}}, "False/Waiting",
			"False/AsExpected", "True/Waiting"},
		"ready": {[]pull.Condition{{Type: "Ready", Status: "True", Reason: "HelmReleaseReady"}}, "True/HelmReleaseReady",
			"False/AsExpected", "False/Complete"},
	} {
		w := newWorld()
		w.control(t)
		acked, _ := Acknowledge(w.report, *w.job, w.now)
		said, verdict := TakeStatus(&acked, *w.job,
			pull.Status{AppliedRef: &applied, Conditions: tc.conditions, Timestamp: w.now}, w.now)
		if w.report = &said; verdict != Taken {
			t.Fatal(verdict)
		}
		w.control(t)
		for kind, want := range map[string]string{api.ConditionReady: tc.ready, api.ConditionDegraded: tc.degraded,
			api.ConditionProgressing: tc.progressing, ConditionDelivered: "True/InCluster"} {
			if c := api.FindCondition(w.status.Conditions, kind); fmt.Sprintf("%s/%s", c.Status, c.Reason) != want {
				t.Errorf("%s: %s is %+v, want %s", name, kind, c, want)
			}
		}
	}
}

// TestAnUnhealthyResultIsDelivered: a job whose resource does not get healthy has failed, is not sent again, and what
// the cluster says since counts.
func TestAnUnhealthyResultIsDelivered(t *testing.T) {
	w := newWorld()
	w.control(t)
	applied := ResourceOf(w.object.Ref())
	applied.UID, applied.Generation = "k1", 101
	acked, _ := Acknowledge(w.report, *w.job, w.now)
	done, _ := TakeResult(&acked, *w.job,
		pull.Result{Outcome: pull.OutcomeFailed, Error: "upgrade failed", AppliedRef: &applied, Timestamp: w.now}, w.now)
	w.report = &done
	w.event(t, 101, w.now, []pull.Condition{{Type: "Degraded", Status: "True", Reason: "HelmReleaseFailed"}})
	job := w.job.ID
	w.now = w.now.Add(time.Hour)
	w.control(t)
	w.wantCondition(t, "failed", ConditionDelivered, api.ConditionTrue, api.ReasonInCluster)
	w.wantCondition(t, "failed", api.ConditionDegraded, api.ConditionTrue, "HelmReleaseFailed")
	if w.status.Delivery.Outcome != pull.OutcomeFailed || w.job.ID != job {
		t.Errorf("%+v, %+v", w.status.Delivery, w.job)
	}
	w.event(t, 101, w.now, ready(api.ConditionTrue, "HelmReleaseReady"))
	w.event(t, 101, w.now, []pull.Condition{{Type: "Degraded", Status: "False", Reason: "Recovered"}})
	w.control(t)
	w.wantCondition(t, "recovered", api.ConditionReady, api.ConditionTrue, "HelmReleaseReady")
}

// TestAnOperatorWithoutStatus: what an operator that sends no status says between the acknowledgement and the result is
// its answer.
func TestAnOperatorWithoutStatus(t *testing.T) {
	w := newWorld()
	w.control(t)
	for round, reason := range []string{"First", "Second"} {
		acked, _ := Acknowledge(w.report, *w.job, w.now)
		w.report = &acked
		applied := ResourceOf(w.object.Ref())
		applied.UID, applied.Generation = "k1", 101
		if round == 0 {
			w.event(t, 101, w.now, ready(api.ConditionTrue, reason))
		}
		done, _ := TakeResult(w.report, *w.job,
			pull.Result{Outcome: pull.OutcomeSucceeded, AppliedRef: &applied, Timestamp: w.now}, w.now)
		w.report = &done
		w.control(t)
		if round == 0 {
			w.wantCondition(t, "said in between", api.ConditionReady, api.ConditionTrue, reason)
			w.object.Metadata.Stamps = map[string]string{api.StampPull: "n1"}
			w.control(t)
			continue
		}
		w.wantCondition(t, "said before", api.ConditionReady, api.ConditionUnknown, api.ReasonNotReported)
	}
}

// TestASilentClusterIsNotReady: while nothing is heard of a cluster, what it said last is not claimed.
func TestASilentClusterIsNotReady(t *testing.T) {
	w := readyWorld(t)
	w.known.Connected = &api.Condition{Status: api.ConditionFalse, Reason: api.ReasonNoRecentRoundTrip,
		Message: "its operator was heard of last at noon"}
	w.control(t)
	w.wantCondition(t, "silent", api.ConditionReady, api.ConditionUnknown, api.ReasonNoRecentRoundTrip)
	if c := api.FindCondition(w.status.Conditions, api.ConditionReady); !strings.Contains(c.Message,
		"it was True/HelmReleaseReady then") {
		t.Errorf("%s", c.Message)
	}
	w.known.Connected.Status = api.ConditionTrue
	w.control(t)
	w.wantCondition(t, "heard of", api.ConditionReady, api.ConditionTrue, "HelmReleaseReady")
}
