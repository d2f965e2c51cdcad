package clusterjob

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestAConflictEndsWithItsResource: when the resource that others hold is gone, it is applied again, at once. While it
// is there, a person decides: what others have set in it doesn't count as drift, and is not taken back.
func TestAConflictEndsWithItsResource(t *testing.T) {
	w := readyWorld(t)
	w.now = w.now.Add(time.Minute)
	w.object.Metadata.Generation, w.object.Spec = 2, instanceSpec("2.0.0")
	w.takes(t, pull.Result{Outcome: pull.OutcomeConflict, Error: "kubectl owns .spec.chart.version"})
	conflict := *w.job
	if !Delivered(conflict, w.report) {
		t.Error("an operator that starts does not get the job, and compares nothing with it")
	}
	for when, state := range map[string]pull.State{"changed": changed("kubectl"), "as declared": {}} {
		w.now = w.now.Add(time.Hour)
		w.finds(t, state)
		if w.control(t); w.job.ID != conflict.ID || w.status.Phase != api.DeliveredConflict {
			t.Errorf("%s: phase %s, job %+v", when, w.status.Phase, w.job)
		}
	}
	w.now = w.now.Add(time.Hour)
	w.finds(t, pull.State{Deleting: true})
	w.control(t)
	w.wantCondition(t, "being deleted", api.ConditionReady, api.ConditionFalse, api.ReasonTerminating)
	w.finds(t, pull.State{Missing: true, Key: w.job.Key})
	w.control(t)
	if w.job.ID == conflict.ID || w.job.Action != api.ActionApply || w.job.Force {
		t.Fatalf("gone: it is not applied again: %+v", w.job)
	}
	w.wantCondition(t, "gone", api.ConditionReady, api.ConditionFalse, api.ReasonMissing)
	w.settle(t)
	w.wantCondition(t, "applied again", ConditionDelivered, api.ConditionTrue, api.ReasonInCluster)
}
