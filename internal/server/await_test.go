package server_test

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestAwait: the first answer comes at once, the next when something has changed, and each has an outcome for every
// write, with its pods.
func TestAwait(t *testing.T) {
	w := newWorld(t)
	applied := w.apply("web", `{"image":"web:1"}`).Objects[0]
	w.running("web", "aaaaaaaa", false)
	w.running("other", "bbbbbbbb", true)
	asked := api.AwaitRequest{Objects: []api.Awaited{
		{Ref: applied.Ref, Revision: applied.Revision, Generation: applied.Generation},
		{Ref: ref("gone"), Gone: true}, {Ref: ref("never")},
	}}
	first, err := w.client.Await(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	states := func(r api.AwaitResult) (out [3]api.OutcomeState) {
		for i := range out {
			out[i] = r.Outcomes[i].State
		}
		return out
	}
	if got := states(first); got != [3]api.OutcomeState{api.OutcomePending, api.OutcomeConverged, api.OutcomeFailed} {
		t.Errorf("%v", got)
	}
	if pods := first.Outcomes[0].Pods; len(pods) != 1 || pods[0].Slot != "aaaaaaaa" {
		t.Errorf("pods %+v", pods)
	}
	asked.Since = first.Revision
	answers := make(chan api.AwaitResult, 1)
	go func() {
		next, err := w.client.Await(t.Context(), asked)
		if err != nil {
			t.Error(err)
		}
		answers <- next
	}()
	w.put(records.StatusKey(applied.Ref),
		api.WorkloadStatus{ObservedRevision: applied.Revision, Conditions: []api.Condition{
			{Type: api.ConditionReady, Status: api.ConditionTrue, Reason: api.ReasonConverged},
			{Type: api.ConditionProgressing, Status: api.ConditionFalse, Reason: api.ReasonComplete},
		}})
	if next := <-answers; next.Revision <= first.Revision || next.Outcomes[0].State != api.OutcomeConverged {
		t.Errorf("%+v", next)
	}
	asked.Since = 1 << 40
	if restored, err := w.client.Await(t.Context(), asked); err != nil || restored.Revision >= asked.Since {
		t.Errorf("a revision that an older store doesn't have is answered at once: %+v %v", restored, err)
	}
}
