package outcome

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

// TestRecovering: once the failed pod is up, the error that it had is no longer the outcome.
func TestRecovering(t *testing.T) {
	pod := func(release string, ready bool, state api.TaskState) api.Pod {
		return api.Pod{Release: release, Ready: ready, State: state, Desired: api.DesiredRunning}
	}
	for name, tc := range map[string]struct {
		reason  string
		phase   api.RolloutPhase
		updated int
		pods    []api.Pod
		want    api.OutcomeState
	}{
		"up": {"the missing folder was made", api.RolloutPaused, 0,
			[]api.Pod{pod("v1", true, api.TaskRunning)}, api.OutcomePending},
		"not ready": {"it runs, and never gets ready", api.RolloutPaused, 0,
			[]api.Pod{pod("v1", false, api.TaskRunning)}, api.OutcomeHeld},
		"failed": {"it has ended", api.RolloutPaused, 0, []api.Pod{pod("v1", false, api.TaskRejected)},
			api.OutcomeHeld},
		"backing off": {"others of the release are good, and the failed one waits", api.RolloutPaused, 1,
			[]api.Pod{pod("v1", true, api.TaskRunning)}, api.OutcomeHeld},
		"one of two": {"the failed one is up beside a good one", api.RolloutPaused, 1,
			[]api.Pod{pod("v1", true, api.TaskRunning), pod("v1", true, api.TaskRunning)}, api.OutcomePending},
		"another fails": {"a second one may fail for the same cause", api.RolloutPaused, 0,
			[]api.Pod{pod("v1", true, api.TaskRunning), pod("v1", false, api.TaskRunning)}, api.OutcomeHeld},
		"older": {"those before serve on", api.RolloutPaused, 0, []api.Pod{pod("v0", true, api.TaskRunning)},
			api.OutcomeHeld},
		"rolled back": {"it is not tried again", api.RolloutRolledBack, 0, []api.Pod{pod("v1", true, api.TaskRunning)},
			api.OutcomeHeld},
	} {
		t.Run(name, func(t *testing.T) {
			failed := api.Condition{Status: api.ConditionFalse, Reason: "HostPathMissing",
				Message: "/srv/data does not exist"}
			status := degraded(statusOf(10, failed, api.Condition{Status: api.ConditionFalse,
				Reason: api.ReasonPaused}))
			status.Replicas, status.Updated = 2, tc.updated
			status.Rollout = &api.RolloutStatus{Phase: tc.phase, TargetRelease: "v1"}
			raw, err := json.Marshal(status)
			if err != nil {
				t.Fatal(err)
			}
			object := api.Object{Kind: webRef.Kind, Scope: webRef.Scope, Name: webRef.Name, Status: raw,
				Metadata: api.Metadata{Generation: 2, Revision: 10}}
			all, err := Judge([]api.Awaited{asked}, func(api.Ref) Observed {
				return Observed{Found: true,
					Object: object, Pods: tc.pods}
			})
			if err != nil {
				t.Fatal(err)
			}
			if all[0].State != tc.want {
				t.Errorf("%s: %+v", tc.reason, all[0])
			}
		})
	}
}
