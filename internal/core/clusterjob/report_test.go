package clusterjob

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

func ready(status api.ConditionStatus, reason string) []pull.Condition {
	return []pull.Condition{{Type: "Ready", Status: status, Reason: reason}}
}

func (w *world) event(t *testing.T, generation int64, at time.Time, conditions []pull.Condition) Verdict {
	t.Helper()
	ref := ResourceOf(w.object.Ref())
	ref.UID, ref.Generation = "k1", generation
	next, verdict := TakeEvent(w.report, w.object.Metadata.UID, pull.Event{
		EventKey: fmt.Sprintf("condition/%s/%s@%d", conditions[0].Type, conditions[0].Status, generation),
		Kind:     pull.EventConditionTransition, ResourceRef: ref, Conditions: conditions, Timestamp: at}, w.now)
	w.report = &next
	return verdict
}

// settle lets the operator do what there is to do.
func (w *world) settle(t *testing.T) {
	t.Helper()
	for range 6 {
		w.control(t)
		w.operate()
	}
	w.control(t)
}

func (w *world) wantCondition(t *testing.T, when, conditionType string, status api.ConditionStatus, reason string) {
	t.Helper()
	c := api.FindCondition(w.status.Conditions, conditionType)
	if c == nil || c.Status != status || c.Reason != reason {
		t.Errorf("%s: %s is %+v, want %s/%s", when, conditionType, c, status, reason)
	}
}

// TestAnOlderGenerationNeverWins: what comes late from an older generation of the resource, or was said earlier,
// changes nothing; and a generation that is on its way is not ready because the one before it was.
func TestAnOlderGenerationNeverWins(t *testing.T) {
	w := newWorld()
	w.control(t)
	w.wantCondition(t, "not taken", api.ConditionReady, api.ConditionUnknown, api.ReasonWaitingForCluster)
	w.settle(t)
	w.wantCondition(t, "nothing reported", api.ConditionReady, api.ConditionUnknown, api.ReasonNotReported)
	w.now = noon.Add(time.Minute)
	w.event(t, 101, w.now, ready(api.ConditionTrue, "HelmReleaseReady"))
	w.control(t)
	w.wantCondition(t, "reported", api.ConditionReady, api.ConditionTrue, "HelmReleaseReady")

	w.object.Metadata.Generation, w.object.Spec = 2, instanceSpec("2.0.0")
	w.control(t)
	w.wantCondition(t, "another generation", api.ConditionReady, api.ConditionUnknown, api.ReasonWaitingForCluster)
	if w.status.ObservedGeneration != 1 {
		t.Errorf("observed %d, want 1", w.status.ObservedGeneration)
	}
	w.now = noon.Add(2 * time.Minute)
	w.settle(t)
	w.wantCondition(t, "applied: what was said of the first is dropped", api.ConditionReady, api.ConditionUnknown,
		api.ReasonNotReported)
	if verdict := w.event(t, 101, w.now, ready(api.ConditionFalse, "HelmReleaseFailed")); verdict != Repeated {
		t.Errorf("an event of the first generation: %v", verdict)
	}
	w.event(t, 102, w.now, ready(api.ConditionTrue, "HelmReleaseReady"))
	if verdict := w.event(t, 102, w.now.Add(-time.Second),
		ready(api.ConditionUnknown, "Reconciling")); verdict != Repeated {
		t.Errorf("an event that was late: %v", verdict)
	}
	if verdict := w.event(t, 103, w.now, ready(api.ConditionTrue, "Changed")); verdict != Taken {
		t.Errorf("a generation that was made in the cluster: %v", verdict)
	}
	w.now = w.now.Add(time.Minute)
	if verdict := w.event(t, 102, w.now, ready(api.ConditionFalse, "HelmReleaseFailed")); verdict != Repeated {
		t.Errorf("a later event of a generation that is not the newest: %v", verdict)
	}
	w.event(t, 103, w.now, ready(api.ConditionTrue, "HelmReleaseReady"))
	w.control(t)
	w.wantCondition(t, "the second", api.ConditionReady, api.ConditionTrue, "HelmReleaseReady")
	if w.status.ObservedGeneration != 2 {
		t.Errorf("observed %d, want 2", w.status.ObservedGeneration)
	}
}

// TestEventsAreTakenOnce: a batch that is sent again changes nothing; a condition that goes and returns under one key
// is taken.
func TestEventsAreTakenOnce(t *testing.T) {
	w := newWorld()
	w.settle(t)
	w.now = noon.Add(time.Hour)
	first := noon.Add(time.Minute)
	for i, tc := range []struct {
		at   time.Time
		c    []pull.Condition
		want Verdict
	}{
		{first, ready(api.ConditionTrue, "A"), Taken}, {first, ready(api.ConditionTrue, "A"), Repeated},
		{first.Add(1 * time.Second), ready(api.ConditionFalse, "B"), Taken},
		{first.Add(2 * time.Second), ready(api.ConditionTrue, "A"), Taken},
		{first, ready(api.ConditionTrue, "A"), Repeated},
	} {
		if got := w.event(t, 101, tc.at, tc.c); got != tc.want {
			t.Errorf("event %d: %v, want %v", i, got, tc.want)
		}
	}
	for i := range 500 {
		w.event(t, 101, first.Add(time.Duration(i+10)*time.Second),
			[]pull.Condition{{Type: strings.Repeat("x", i%90+1), Status: "True", Message: strings.Repeat("m", 5000)}})
	}
	if len(w.report.Seen) > maxSeen || len(w.report.Conditions) > maxConditions ||
		len(w.report.Conditions[maxConditions-1].Message) > maxText {
		t.Errorf("what is kept has no bounds: %d keys, %d conditions", len(w.report.Seen), len(w.report.Conditions))
	}
}

// TestOutcomes: each outcome of a job, what it says, and when it is sent again.
func TestOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		result    pull.Result
		phase     string
		delivered api.ConditionStatus
		reason    string
		again     time.Duration // 0: never
	}{
		"succeeded": {pull.Result{Outcome: pull.OutcomeSucceeded}, api.DeliveredApplied, api.ConditionTrue,
			api.ReasonInCluster, 0},
		"noop": {pull.Result{Outcome: pull.OutcomeNoop}, api.DeliveredApplied, api.ConditionTrue,
			api.ReasonInCluster, 0},
		"failed": {pull.Result{Outcome: pull.OutcomeFailed, Error: "quota"}, api.DeliveredFailed, api.ConditionFalse,
			api.ReasonDeliveryFailed, firstRetry},
		"conflict": {pull.Result{Outcome: pull.OutcomeConflict, Error: "kubectl owns .spec.values"}, api.DeliveredConflict,
			api.ConditionFalse, api.ReasonFieldConflict, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.control(t)
			acked, _ := Acknowledge(w.report, *w.job, w.now)
			w.report = &acked
			done, verdict := TakeResult(w.report, *w.job, tc.result, w.now)
			if w.report = &done; verdict != Taken {
				t.Fatal(verdict)
			}
			if _, verdict := TakeResult(w.report, *w.job, tc.result, w.now); verdict != Closed {
				t.Errorf("a second result: %v", verdict)
			}
			first := w.job.ID
			w.control(t)
			w.wantCondition(t, name, ConditionDelivered, tc.delivered, tc.reason)
			if w.status.Phase != tc.phase || w.status.Delivery.Outcome != tc.result.Outcome ||
				w.status.Delivery.Error != tc.result.Error {
				t.Errorf("%+v, %+v", w.status, w.status.Delivery)
			}
			if due, _ := Due(*w.job, w.report, w.now.Add(Life-time.Second)); due {
				t.Error("a job with a result is sent again")
			}
			if tc.again == 0 {
				w.now = w.now.Add(2 * Life)
				if w.control(t); w.job.ID != first && tc.delivered != api.ConditionTrue {
					t.Error("it is asked for again, and nothing has changed")
				}
				return
			}
			if w.now = w.now.Add(tc.again - time.Second); true {
				w.control(t)
			}
			if w.job.ID != first {
				t.Error("too early")
			}
			w.now = w.now.Add(time.Second)
			w.control(t)
			if w.job.ID == first || w.job.Attempt != 2 || w.job.Key == "" {
				t.Errorf("no second attempt: %+v", w.job)
			}
		})
	}
}

// TestALeaseEnds: a job that was taken is sent again once nothing was heard of it for the lease, and not before.
func TestALeaseEnds(t *testing.T) {
	w := newWorld()
	w.control(t)
	if due, _ := Due(*w.job, w.report, w.now); !due {
		t.Fatal("a new job is not due")
	}
	acked, _ := Acknowledge(w.report, *w.job, w.now)
	w.report = &acked
	half := w.now.Add(Lease / 2)
	renewed, verdict := TakeStatus(w.report, *w.job, pull.Status{Phase: "Running", Message: "installing"}, half)
	if w.report = &renewed; verdict != Taken {
		t.Fatal(verdict)
	}
	w.control(t)
	if !strings.Contains(api.FindCondition(w.status.Conditions, ConditionDelivered).Message, "installing") {
		t.Errorf("%+v", w.status.Conditions)
	}
	if due, at := Due(*w.job, w.report, w.now.Add(Lease)); due || !at.Equal(half.Add(Lease)) {
		t.Errorf("due %v at %s, want %s", due, at, half.Add(Lease))
	}
	if due, _ := Due(*w.job, w.report, half.Add(Lease)); !due {
		t.Error("the lease is over, and it is not sent again")
	}
	if due, _ := Due(*w.job, w.report, w.now.Add(Life)); due {
		t.Error("a job is sent that has expired")
	}
	w.now = w.now.Add(Life)
	old := w.job
	if w.control(t); w.job.ID == old.ID || w.job.Key != old.Key {
		t.Errorf("a job that expired is followed by %+v", w.job)
	}
}

// TestWaysOut: an object that is deleted waits for its cluster, unless that is not there, never registered, or not to
// be asked.
func TestWaysOut(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*world)
		gone   bool
	}{
		"a cluster that is away":      {func(w *world) { w.known.Connected = &api.Condition{Status: api.ConditionFalse, Message: "away"} }, false},
		"an orphan":                   {func(w *world) { w.object.Metadata.Stamps = map[string]string{api.StampOrphan: "true"} }, true},
		"a cluster that is gone":      {func(w *world) { w.known = Known{Name: "east"} }, true},
		"a cluster without operators": {func(w *world) { w.known.Registered = false }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.settle(t)
			w.object.Metadata.DeletedAt = &noon
			tc.change(w)
			if w.control(t); w.gone != tc.gone {
				t.Fatalf("gone %v, want %v: %+v", w.gone, tc.gone, w.status)
			}
			if !tc.gone {
				c := api.FindCondition(w.status.Conditions, ConditionDelivered)
				if w.status.Phase != api.DeliveredDeleting || !strings.Contains(c.Message, "away") ||
					!strings.Contains(c.Next, "tend delete applicationinstance org/cloud --orphan") {
					t.Errorf("%s, %+v", w.status.Phase, c)
				}
			}
		})
	}
}

// TestNowhereToGo: an object whose cluster is not declared, or doesn't take its namespace, has no job and says why.
func TestNowhereToGo(t *testing.T) {
	w := newWorld()
	w.known = Known{Name: "east"}
	w.control(t)
	w.wantCondition(t, "no cluster", api.ConditionDegraded, api.ConditionTrue, api.ReasonClusterNotFound)
	w.known = Known{Name: "east", Declared: true, Spec: api.ClusterSpec{Namespaces: []string{"shop"}}}
	w.control(t)
	w.wantCondition(t, "another namespace", api.ConditionReady, api.ConditionFalse, api.ReasonNamespaceNotAllowed)
	if w.job != nil {
		t.Errorf("%+v", w.job)
	}
}

// TestOperationPhases: the phase and the readiness of an operation are what its conditions in the cluster say.
func TestOperationPhases(t *testing.T) {
	for name, tc := range map[string]struct {
		conditions []pull.Condition
		phase      string
		ready      api.ConditionStatus
		degraded   api.ConditionStatus
	}{
		"blocked": {[]pull.Condition{{Type: "Blocked", Status: "True", Reason: "AwaitingApproval"}}, api.DeliveredPending,
			api.ConditionUnknown, api.ConditionFalse},
		"running": {[]pull.Condition{{Type: "Running", Status: "True", Reason: "EngineStarted"},
			{Type: "Succeeded", Status: "False", Reason: "NotYetSucceeded"}}, api.OperationRunning,
			api.ConditionFalse, api.ConditionFalse},
		"succeeded": {[]pull.Condition{{Type: "Succeeded", Status: "True", Reason: "EngineCompleted"}},
			api.OperationSucceeded, api.ConditionTrue, api.ConditionFalse},
		"failed": {[]pull.Condition{{Type: "Failed", Status: "True", Reason: "EngineFailed", Message: "no disk"}},
			api.DeliveredFailed, api.ConditionFalse, api.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.object.Kind, w.object.Spec = api.KindOperation,
				[]byte(`{"cluster":"east","targetRef":{"name":"cloud"},"type":"Backup","engine":"velero"}`)
			w.settle(t)
			w.event(t, 101, w.now, tc.conditions)
			w.control(t)
			if w.status.Phase != tc.phase {
				t.Errorf("phase %s, want %s", w.status.Phase, tc.phase)
			}
			if c := api.FindCondition(w.status.Conditions, api.ConditionReady); c.Status != tc.ready {
				t.Errorf("%+v", c)
			}
			if c := api.FindCondition(w.status.Conditions, api.ConditionDegraded); c.Status != tc.degraded {
				t.Errorf("%+v", c)
			}
		})
	}
}
