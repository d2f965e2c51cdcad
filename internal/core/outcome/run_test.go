package outcome

import (
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestJudgeRun: an apply of a job that runs by itself waits for the run of its release, and fails with it.
func TestJudgeRun(t *testing.T) {
	migrate := api.Awaited{Ref: api.Ref{Kind: api.KindJob, Scope: "prod", Name: "migrate"}, Revision: 10}
	object := func(spec string) api.Object {
		return api.Object{Kind: api.KindJob, Scope: "prod", Spec: []byte(spec), Metadata: api.Metadata{Revision: 10}}
	}
	itself := object(`{"run_on_release":true,"depends_on":{"workloads":["deployment/db"]}}`)
	ready, complete := api.Condition{Status: api.ConditionTrue, Reason: "Declared"},
		api.Condition{Status: api.ConditionFalse, Reason: "Complete"}
	ran := api.Condition{Status: api.ConditionTrue, Reason: api.ReasonRunSucceeded, Message: "it has run"}
	under := func(reason string) api.Condition {
		return api.Condition{Status: api.ConditionTrue, Reason: reason, Message: "message of " + reason}
	}
	failed := statusOf(10, ready, complete)
	failed.Conditions = append(failed.Conditions, api.Condition{
		Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: api.ReasonRunFailed,
		Message: "run v1-run failed: exit code 1\nno such table", Next: "tend logs prod/migrate",
	})
	for name, tc := range map[string]struct {
		reason  string
		object  api.Object
		status  api.WorkloadStatus
		want    api.OutcomeState
		message string
		needs   int
	}{
		"asked": {"a job that runs when asked to is only stored", object(`{}`), failed, api.OutcomeConverged,
			"registered", 0},
		"asked, image": {"no run could begin yet", object(`{}`), statusOf(10, api.Condition{Status: api.ConditionFalse},
			under("PullingImage")), api.OutcomePending, "PullingImage", 0},
		"asked, no image": {"no run could begin", object(`{}`),
			degraded(statusOf(10, api.Condition{Status: api.ConditionFalse, Reason: "ImageNotFound",
				Message: "no such image"}, complete)), api.OutcomeFailed, "no such image", 0},
		"image": {"its image is looked for", itself, statusOf(10, api.Condition{Status: api.ConditionFalse},
			under("PullingImage")), api.OutcomePending, "PullingImage", 0},
		"asked for": {"a cause is given once, in the other condition", itself,
			statusOf(10, api.Condition{Status: api.ConditionFalse, Message: "waiting for node n1"},
				api.Condition{Status: api.ConditionTrue}), api.OutcomePending, "waiting for node n1", 0},
		"running": {"its run goes on", itself, statusOf(10, ready, under(api.ReasonRunning)), api.OutcomePending,
			"Running", 0},
		"held": {"it waits for what it depends on", itself,
			statusOf(10, ready, under(api.ReasonWaitingForDependency)), api.OutcomePending, "WaitingForDependency", 1},
		"failed": {"its run failed", itself, failed, api.OutcomeFailed, "run v1-run failed", 0},
		"no image": {"nothing runs without an image", itself,
			degraded(statusOf(10, api.Condition{Status: api.ConditionFalse, Reason: "ImageNotFound",
				Message: "no such image"}, complete)), api.OutcomeFailed, "no such image", 0},
		"ran": {"its run succeeded", itself, statusOf(10, ran, complete), api.OutcomeConverged, "it has run", 0},
	} {
		got := judge(migrate, tc.object, tc.status)
		if got.State != tc.want || !strings.Contains(got.Message, tc.message) || len(got.needs) != tc.needs {
			t.Errorf("%s: %s: outcome %s, %q, needs %v", name, tc.reason, got.State, got.Message, got.needs)
		}
	}
	cluster := migrate
	cluster.Kind = api.KindCluster
	if got := judge(cluster, api.Object{Kind: api.KindCluster, Metadata: api.Metadata{Revision: 10}}, statusOf(10,
		api.Condition{Status: api.ConditionFalse}, complete)); got.State != api.OutcomeConverged {
		t.Errorf("a cluster is declared before its operator connects: outcome %s", got.State)
	}
	stepped := judge(migrate, itself, failed)
	stepped.explain()
	if next := stepped.Next; next != "tend logs prod/migrate; to run it again: tend run prod/migrate" {
		t.Errorf("the step: %q", next)
	}
	// What depends on a run that failed can't go on.
	web := judged{Awaited: asked, Outcome: api.Outcome{State: api.OutcomePending}, needs: []api.Ref{migrate.Ref}}
	all := []judged{web, judge(migrate, itself, failed)}
	giveUp(all)
	if states := []api.OutcomeState{all[0].State, all[1].State}; !slices.Equal(states,
		[]api.OutcomeState{api.OutcomeFailed, api.OutcomeFailed}) {
		t.Errorf("outcomes %v", states)
	}
}
