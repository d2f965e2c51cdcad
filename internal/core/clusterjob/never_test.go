package clusterjob

import (
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestWhatWasNeverApplied: of an object that another resource of its name is in the way of, nothing of that one is
// claimed, and its loss isn't the object's. An instance is applied once the name is free, an operation on request.
func TestWhatWasNeverApplied(t *testing.T) {
	for name, kind := range map[string]api.Kind{"an instance": api.KindApplicationInstance, "an operation": api.KindOperation} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if w.object.Kind = kind; kind == api.KindOperation {
				w.object.Spec = []byte(`{"cluster":"east","targetRef":{"name":"cloud"},"type":"Backup","engine":"velero"}`)
			}
			w.takes(t, pull.Result{Outcome: pull.OutcomeConflict, Error: "kubectl owns .spec.type"})
			job := w.job.ID
			w.event(t, 1, w.now, []pull.Condition{{Type: "Succeeded", Status: "True", Reason: "EngineCompleted"}})
			if w.control(t); w.status.Phase != api.DeliveredConflict ||
				api.FindCondition(w.status.Conditions, "Succeeded") != nil {
				t.Errorf("the other's success: phase %s, %+v", w.status.Phase, w.status.Conditions)
			}
			w.wantDelivered(t, "in the way", api.ReasonFieldConflict, "kubectl owns .spec.type")
			w.now = w.now.Add(time.Second)
			w.finds(t, pull.State{Deleting: true})
			w.control(t)
			w.wantDelivered(t, "the other one goes", api.ReasonTerminating, "another resource of its name is being deleted")
			w.now = w.now.Add(time.Second)
			w.finds(t, pull.State{Missing: true})
			w.control(t)
			if kind == api.KindApplicationInstance {
				if w.job.ID == job || !strings.Contains(w.job.Heal.Message, "it was never applied there") {
					t.Errorf("the name is free: %+v", w.job)
				}
				return
			}
			w.wantDelivered(t, "the name is free", api.ReasonMissing, "it was never applied there")
			if c := api.FindCondition(w.status.Conditions, ConditionDelivered); !strings.Contains(c.Next, "tend apply --force") {
				t.Errorf("what to do: %s", c.Next)
			}
			w.object.Metadata.Stamps = map[string]string{api.StampPull: "n1"}
			w.settle(t)
			w.wantCondition(t, "applied by force", ConditionDelivered, api.ConditionTrue, api.ReasonInCluster)
		})
	}
}

// wantDelivered checks that Delivered is False with a reason, and a part of the message.
func (w *world) wantDelivered(t *testing.T, when, reason, part string) {
	t.Helper()
	w.wantCondition(t, when, ConditionDelivered, api.ConditionFalse, reason)
	if c := api.FindCondition(w.status.Conditions, ConditionDelivered); !strings.Contains(c.Message, part) {
		t.Errorf("%s: it says %s", when, c.Message)
	}
}
