package clusterjob

import (
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
				w.event(t, 101, w.now, []pull.Condition{{Type: condition, Status: "True", Reason: "Reported"}})
				w.control(t)
				if w.status.Phase != phase {
					t.Fatalf("phase %s, the cluster says %s", w.status.Phase, phase)
				}
				w.object.Metadata.Annotations = map[string]string{"ops.vworkspace.io/cancel": "denied by ada"}
				w.object.Metadata.Generation++
				w.now = w.now.Add(time.Second)
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

// TestAnEndedOperationIsNotSentAgain: a refused change of an operation that has ended is followed by no other job, that
// would create the operation again if it was cleaned up in the cluster. Its deletion is sent until it is done.
func TestAnEndedOperationIsNotSentAgain(t *testing.T) {
	for name, result := range map[string]pull.Result{
		"conflict": {Outcome: pull.OutcomeConflict, Error: "kubectl owns the annotation"},
		"refused":  {Outcome: pull.OutcomeFailed, Error: "spec.parameters can't be changed"},
		"late":     {Outcome: pull.OutcomeNoop, Error: pull.ErrorExpired},
	} {
		t.Run(name, func(t *testing.T) {
			w := operationWorld(t)
			w.event(t, 101, w.now, []pull.Condition{{Type: "Succeeded", Status: "True", Reason: "Completed"}})
			w.object.Metadata.Annotations = map[string]string{"ops.vworkspace.io/cancel": "denied by ada"}
			w.object.Metadata.Generation++
			w.takes(t, result)
			w.control(t)
			answered := w.job.ID
			w.now = w.now.Add(2 * Life)
			if w.control(t); w.job.ID != answered || !w.status.Delivery.RetryAt.IsZero() {
				t.Errorf("another job follows: %+v", w.job)
			}
			c := api.FindCondition(w.status.Conditions, ConditionDelivered)
			if c.Status != api.ConditionFalse || c.Next != "an operation is done once: apply one of another name" {
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
