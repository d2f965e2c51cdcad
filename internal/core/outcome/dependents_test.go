package outcome

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
)

// TestGiveUpDependents: the wait for an object ends with that for an object it depends on.
func TestGiveUpDependents(t *testing.T) {
	ref := func(name string) api.Ref { return api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name} }
	at := func(name string, o api.OutcomeState, needs ...string) judged {
		s := judged{Awaited: api.Awaited{Ref: ref(name)}, Outcome: api.Outcome{State: o, Message: "message of " + name}}
		for _, need := range needs {
			s.needs = append(s.needs, ref(need))
		}
		return s
	}
	lacking := at("db", api.OutcomePending)
	lacking.lacks = true
	stopped := at("db", api.OutcomeConverged)
	stopped.stopped = true
	for name, tc := range map[string]struct {
		reason string
		all    []judged
		want   []api.OutcomeState
	}{
		"failed": {"nothing changes without a person", []judged{at("web", api.OutcomePending, "db"),
			at("db", api.OutcomeFailed)}, []api.OutcomeState{api.OutcomeFailed, api.OutcomeFailed}},
		"paused": {"the rollout of the other did not last",
			[]judged{at("web", api.OutcomePending, "db"), at("db", api.OutcomeHeld)},
			[]api.OutcomeState{api.OutcomeHeld, api.OutcomeHeld}},
		"chain": {"one waits for another that waits", []judged{at("edge", api.OutcomePending, "web"),
			at("web", api.OutcomePending, "db"), at("db", api.OutcomeFailed)},
			[]api.OutcomeState{api.OutcomeFailed, api.OutcomeFailed, api.OutcomeFailed}},
		"stopped": {"only a person starts the other", []judged{at("web", api.OutcomePending, "db"), stopped},
			[]api.OutcomeState{api.OutcomeHeld, api.OutcomeConverged}},
		"lacking": {"no object brings what the other lacks", []judged{at("web", api.OutcomePending, "db"), lacking},
			[]api.OutcomeState{api.OutcomeFailed, api.OutcomeFailed}},
		"pending": {"the other is on its way", []judged{at("web", api.OutcomePending, "db"),
			at("db", api.OutcomePending)}, []api.OutcomeState{api.OutcomePending, api.OutcomePending}},
		"beside": {"the trouble is another's", []judged{at("web", api.OutcomePending, "db"),
			at("db", api.OutcomePending), at("x", api.OutcomeFailed)},
			[]api.OutcomeState{api.OutcomePending, api.OutcomePending, api.OutcomeFailed}},
		"foreign": {"another apply may bring it", []judged{at("web", api.OutcomePending, "db"),
			at("x", api.OutcomeFailed)}, []api.OutcomeState{api.OutcomePending, api.OutcomeFailed}},
	} {
		giveUp(tc.all)
		for i, want := range tc.want {
			if got := tc.all[i].State; got != want {
				t.Errorf("%s: %s: outcome %s, want %s: %s", name, tc.all[i].Ref, got, want, tc.reason)
			}
		}
	}

	all := []judged{at("web", api.OutcomePending, "db"), at("db", api.OutcomeHeld)}
	giveUp(all)
	all[0].explain()
	if web := all[0].Outcome; web.Cause != "message of web" ||
		web.Next != "get deployment/prod/db ready; Tend then continues" {
		t.Errorf("%+v", web)
	}
}

// TestJudgeNeeds: a release that waits for others says which ones.
func TestJudgeNeeds(t *testing.T) {
	object := api.Object{Kind: api.KindDeployment, Scope: "prod",
		Spec: []byte(`{"depends_on":{"workloads":["deployment/db"]}}`), Metadata: api.Metadata{Revision: 10}}
	for reason, want := range map[string][]api.Ref{
		"WaitingForDependency": {{Kind: api.KindDeployment, Scope: "prod", Name: "db"}}, "Progressing": nil,
	} {
		status := statusOf(10, api.Condition{Status: api.ConditionFalse, Reason: reason},
			api.Condition{Status: api.ConditionTrue, Reason: reason})
		if got := judge(asked, object, status); got.State != api.OutcomePending || !slices.Equal(got.needs, want) {
			t.Errorf("%s: outcome %s, needs %v; want %v", reason, got.State, got.needs, want)
		}
	}
}
