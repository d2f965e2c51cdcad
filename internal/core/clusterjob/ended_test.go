package clusterjob

import (
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestAnOperationStaysAsItEnded: what the cluster reported at the end of an operation stays its phase, whatever becomes
// of a later delivery. Its other conditions still speak of what is declared now.
func TestAnOperationStaysAsItEnded(t *testing.T) {
	results := map[string]pull.Result{
		"conflict": {Outcome: pull.OutcomeConflict, Error: "kubectl owns the annotation"},
		"refused":  {Outcome: pull.OutcomeFailed, Error: "spec.parameters can't be changed"},
	}
	for condition, phase := range map[string]string{
		"Succeeded": api.OperationSucceeded, "Failed": api.DeliveredFailed, "Cancelled": api.OperationCancelled,
		"Blocked": api.DeliveredPending,
	} {
		for name, result := range results {
			t.Run(condition+", then "+name, func(t *testing.T) {
				w := operationWorld(t)
				w.isCancelled(t)
				w.event(t, 101, w.now, []pull.Condition{{Type: condition, Status: "True", Reason: "Reported"}})
				if w.control(t); condition != "Blocked" && w.status.Phase != phase {
					t.Errorf("under way: phase %s, the cluster says %s", w.status.Phase, phase)
				}
				w.takes(t, result)
				w.control(t)
				if ended := w.status.Phase == phase; ended != (condition != "Blocked") {
					t.Errorf("phase %s, the cluster says %s", w.status.Phase, phase)
				}
				for _, kind := range []string{ConditionDelivered, api.ConditionReady} {
					if c := api.FindCondition(w.status.Conditions, kind); c.Status != api.ConditionFalse {
						t.Errorf("what is declared now is not in the cluster: %+v", c)
					}
				}
			})
		}
	}
}

// isCancelled has a change of the object sent, and taken.
func (w *world) isCancelled(t *testing.T) {
	t.Helper()
	w.object.Metadata.Annotations = map[string]string{"ops.vworkspace.io/cancel": "denied by ada"}
	w.object.Metadata.Generation++
	w.control(t)
	next, verdict := Acknowledge(w.report, *w.job, w.now)
	if verdict != Taken {
		t.Fatalf("the change is not taken: %d", verdict)
	}
	w.report, w.now = &next, w.now.Add(time.Second)
}

// TestAReplicationEnds: the success of a replication with a schedule doesn't end it while it runs, and its end is not
// the success that it had before. The loss of one that runs is reported.
func TestAReplicationEnds(t *testing.T) {
	for name, test := range map[string]struct {
		conditions map[string]api.ConditionStatus
		phase      string
		ended      bool
	}{
		"idle":      {map[string]api.ConditionStatus{"Succeeded": "True", "Running": "True"}, api.OperationRunning, false},
		"done":      {map[string]api.ConditionStatus{"Succeeded": "True", "Running": "False"}, api.OperationSucceeded, true},
		"cancelled": {map[string]api.ConditionStatus{"Succeeded": "True", "Cancelled": "True"}, api.OperationCancelled, true},
		"failed":    {map[string]api.ConditionStatus{"Succeeded": "True", "Failed": "True"}, api.DeliveredFailed, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := operationWorld(t)
			var reported []pull.Condition
			for condition, status := range test.conditions {
				reported = append(reported, pull.Condition{Type: condition, Status: status, Reason: "Reported"})
			}
			w.event(t, 101, w.now, reported)
			if w.control(t); w.status.Phase != test.phase {
				t.Errorf("phase %s, want %s", w.status.Phase, test.phase)
			}
			w.finds(t, pull.State{Missing: true})
			w.control(t)
			phase, delivered := test.phase, api.ConditionTrue
			if !test.ended {
				phase, delivered = api.DeliveredMissing, api.ConditionFalse
			}
			if c := api.FindCondition(w.status.Conditions, ConditionDelivered); w.status.Phase != phase ||
				c.Status != delivered {
				t.Errorf("deleted in the cluster: phase %s, want %s; %+v", w.status.Phase, phase, c)
			}
		})
	}
}

// operationWorld is an operation that its cluster has.
func operationWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld()
	w.object.Kind, w.object.Spec = api.KindOperation,
		[]byte(`{"cluster":"east","targetRef":{"name":"cloud"},"type":"Backup","engine":"velero"}`)
	w.settle(t)
	return w
}

// TestAnEndedOperationIsNotSentAgain: no job follows a change that was refused once the operation has ended: it would
// be created again if it was cleaned up in the cluster. Its deletion is sent until it is done.
func TestAnEndedOperationIsNotSentAgain(t *testing.T) {
	for name, row := range map[string]struct {
		result  pull.Result
		message string
	}{
		"conflict": {pull.Result{Outcome: pull.OutcomeConflict, Error: "kubectl owns it"}, "kubectl owns"},
		"refused":  {pull.Result{Outcome: pull.OutcomeFailed, Error: "spec can't be changed"}, "spec can't be changed"},
		"late": {pull.Result{Outcome: pull.OutcomeNoop, Error: pull.ErrorExpired},
			"it ended with generation 1: generation 2 is not sent"},
	} {
		t.Run(name, func(t *testing.T) {
			w := operationWorld(t)
			w.isCancelled(t)
			w.event(t, 101, w.now, []pull.Condition{{Type: "Succeeded", Status: "True", Reason: "Completed"}})
			w.takes(t, row.result)
			w.control(t)
			answered := w.job.ID
			w.now = w.now.Add(2 * Life)
			if w.control(t); w.job.ID != answered || !w.status.Delivery.RetryAt.IsZero() {
				t.Errorf("another job follows: %+v", w.job)
			}
			w.wantCondition(t, name, ConditionDelivered, api.ConditionFalse,
				map[bool]string{true: api.ReasonFieldConflict, false: api.ReasonDeliveryFailed}[name == "conflict"])
			c := api.FindCondition(w.status.Conditions, ConditionDelivered)
			if !strings.Contains(c.Message, row.message) || c.Next != "an operation is done once: apply one of another name" {
				t.Errorf("%+v", c)
			}
			w.object.Metadata.DeletedAt = &w.now
			w.takes(t, pull.Result{Outcome: pull.OutcomeFailed, Error: "a webhook refuses it"})
			deletion := w.job.ID
			w.now = w.now.Add(time.Hour)
			if w.control(t); w.job.ID == deletion {
				t.Error("the deletion is not sent again")
			}
		})
	}
}

// TestAnEndedOperationIsLeftAlone: whatever becomes of the object of an operation that has ended, no job follows: its
// resource may have been cleaned up, and would run again. Delivered is still about the spec that the cluster had.
func TestAnEndedOperationIsLeftAlone(t *testing.T) {
	for name, row := range map[string]struct {
		change func(w *world, t *testing.T)
		reason string
	}{
		"labelled": {func(w *world, _ *testing.T) { w.object.Metadata.Labels = map[string]string{"team": "a"} },
			api.ReasonInCluster},
		"forced": {func(w *world, _ *testing.T) { w.object.Metadata.Stamps = map[string]string{api.StampPull: "n1"} },
			api.ReasonInCluster},
		"another spec": {func(w *world, _ *testing.T) { w.object.Metadata.Generation++ }, api.ReasonDeliveryFailed},
		"its namespace is not allowed for a time": {func(w *world, t *testing.T) {
			w.known.Spec.Namespaces = []string{"other"}
			w.control(t)
			if w.wantDelivered(t, "meanwhile", api.ReasonNamespaceNotAllowed, "org"); w.status.Phase != "Succeeded" {
				t.Errorf("meanwhile: phase %s", w.status.Phase)
			}
			w.known.Spec.Namespaces = nil
		}, api.ReasonInCluster},
		"its job is lost": {func(w *world, _ *testing.T) { w.job = nil }, api.ReasonInCluster},
	} {
		t.Run(name, func(t *testing.T) {
			w := operationWorld(t)
			w.event(t, 101, w.now, []pull.Condition{{Type: "Succeeded", Status: "True", Reason: "Completed"}})
			w.finds(t, pull.State{Missing: true})
			w.control(t)
			sent := w.job.ID
			w.revision++
			row.change(w, t)
			w.now = w.now.Add(2 * Life)
			w.control(t)
			if w.job != nil && w.job.ID != sent {
				t.Errorf("it is sent again: %+v", w.job)
			}
			if c := api.FindCondition(w.status.Conditions, ConditionDelivered); c.Reason != row.reason ||
				w.status.Phase != api.OperationSucceeded {
				t.Errorf("phase %s, %+v", w.status.Phase, c)
			}
		})
	}
}

// TestAChangeThatIsTooLate: a change that no operator has taken is not sent once the operation has ended, also not to
// an operator that begins again with it. The job that the operation was made by is finished.
func TestAChangeThatIsTooLate(t *testing.T) {
	for _, taken := range []bool{false, true} {
		w := operationWorld(t)
		if w.isCancelled(t); !taken {
			w.report.Job, w.report.Result = w.report.AppliedJob, nil
		}
		if due, _ := Due(*w.job, w.report, w.now); due == taken {
			t.Errorf("taken %v: due %v while the operation runs", taken, due)
		}
		w.event(t, 101, w.now, []pull.Condition{{Type: "Failed", Status: "True", Reason: "EngineFailed"}})
		w.now = w.now.Add(2 * Lease)
		if due, at := Due(*w.job, w.report, w.now); due || !at.IsZero() || Unfinished(*w.job, w.report, w.now) {
			t.Errorf("taken %v: it is sent to an operation that has ended", taken)
		}
		w.report.AppliedJob = w.job.ID
		if due, _ := Due(*w.job, w.report, w.now); !due {
			t.Errorf("taken %v: the operation's own job is not finished", taken)
		}
	}
}
