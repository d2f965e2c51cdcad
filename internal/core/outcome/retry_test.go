package outcome

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

// TestRetry: an apply that changes nothing asks for another try of what failed, unless it ended for good. What is well
// or on its way is left alone: that apply writes nothing.
func TestRetry(t *testing.T) {
	condition := func(kind string, status api.ConditionStatus, reason string) api.Condition {
		return api.Condition{Type: kind, Status: status, Reason: reason, Message: "message of " + reason}
	}
	trouble := func(reason string) []api.Condition {
		return []api.Condition{
			condition(api.ConditionReady, api.ConditionFalse, reason),
			condition(api.ConditionProgressing, api.ConditionFalse, reason),
			condition(api.ConditionDegraded, api.ConditionTrue, reason),
		}
	}
	under := trouble("VolumeInUse")
	under[1].Status = api.ConditionTrue
	well := []api.Condition{
		condition(api.ConditionReady, api.ConditionTrue, api.ReasonConverged),
		condition(api.ConditionProgressing, api.ConditionFalse, api.ReasonComplete),
		condition(api.ConditionDegraded, api.ConditionFalse, api.ReasonAsExpected),
	}
	ownRun := trouble(api.ReasonRunFailed)
	ownRun[0] = condition(api.ConditionReady, api.ConditionTrue, "Declared")
	for name, tc := range map[string]struct {
		reason     string
		kind       api.Kind
		spec       string
		conditions []api.Condition
		phase      api.RolloutPhase
		want       bool
	}{
		"paused": {"the cause may be gone", api.KindDeployment, `{}`, trouble("VolumeInUse"),
			api.RolloutPaused, true},
		"statefulset": {"so it is of ordinals", api.KindStatefulSet, `{}`, trouble("VolumeInUse"),
			api.RolloutPaused, true},
		"goes on": {"it would wait for its backoff", api.KindDeployment, `{}`, under, api.RolloutProgressing,
			true},
		"image": {"it may have been pushed", api.KindDeployment, `{}`, trouble(api.ReasonResolvingImage),
			api.RolloutProgressing, true},
		"image of a job": {"its run waits for it", api.KindJob, `{"run_on_release":true}`, trouble("ImageNotFound"),
			"", true},
		"environment": {"a bucket may have it since", api.KindDeployment, `{}`, trouble(api.ReasonEnvFromEmpty),
			api.RolloutProgressing, true},
		"sync":    {"the source is polled at once", api.KindSync, `{}`, trouble("FetchFailed"), "", true},
		"ingress": {"the listener may be free", api.KindIngress, `{}`, trouble("PortTaken"), "", true},
		"rolled back": {"tend restart tries it again", api.KindDeployment, `{}`, trouble(api.ReasonRolledBack),
			api.RolloutRolledBack, false},
		"release command": {"tend restart runs it again", api.KindDeployment, `{}`,
			trouble(api.ReasonReleaseCommandFailed), api.RolloutComplete, false},
		"run":       {"tend run runs it again", api.KindJob, `{"run_on_release":true}`, ownRun, "", false},
		"asked run": {"an apply of it waits for no run", api.KindJob, `{}`, ownRun, "", false},
		"lab":       {"it ran once", api.KindLab, `{}`, trouble(api.ReasonLabFailed), "", false},
		"missing": {"the cluster heals it by its own clock, or only reports it", api.KindApplicationInstance,
			`{}`, trouble(api.ReasonMissing), "", false},
		"drifted": {"so it does here", api.KindApplicationInstance, `{}`, trouble(api.ReasonDrifted), "",
			false},
		"operation": {"it is carried out once", api.KindOperation, `{}`, trouble("Failed"), "", false},
		"well":      {"nothing is to be done", api.KindDeployment, `{}`, well, api.RolloutComplete, false},
		"new":       {"it is not seen yet", api.KindDeployment, `{}`, nil, "", false},
	} {
		status := api.WorkloadStatus{ObservedRevision: 10, Conditions: tc.conditions,
			Rollout: &api.RolloutStatus{Phase: tc.phase}}
		raw, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		object := api.Object{Kind: tc.kind, Scope: "prod", Name: "web", Spec: []byte(tc.spec), Status: raw,
			Metadata: api.Metadata{Revision: 10, Generation: 2}}
		if tc.want { // what was rolled back is not tried again because something else is the matter too
			status.Rollout.Failed = &api.FailedRollout{}
			turned := object
			if turned.Status, err = json.Marshal(status); err != nil {
				t.Fatal(err)
			}
			if got, err := Retry(turned); err != nil || got {
				t.Errorf("%s, of a version that was rolled back: %v, %v; want false", name, got, err)
			}
		}
		if got, err := Retry(object); err != nil || got != tc.want {
			t.Errorf("%s: %s: %v, %v; want %v", name, tc.reason, got, err, tc.want)
		}
	}
}
