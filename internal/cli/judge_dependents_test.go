package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestGiveUpDependents: the wait for an object ends with that for an object it depends on.
func TestGiveUpDependents(t *testing.T) {
	ref := func(name string) api.Ref { return api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name} }
	at := func(name string, o outcome, needs ...string) seen {
		s := seen{wait: wait{ref: ref(name)}, outcome: o, message: "message of " + name}
		for _, need := range needs {
			s.needs = append(s.needs, ref(need))
		}
		return s
	}
	lacking := at("db", pending)
	lacking.lacks = true
	stopped := at("db", converged)
	stopped.stopped = true
	for name, tc := range map[string]struct {
		reason string
		looks  []seen
		want   []outcome
	}{
		"failed":  {"nothing changes without a person", []seen{at("web", pending, "db"), at("db", failed)}, []outcome{failed, failed}},
		"paused":  {"the rollout of the other did not last", []seen{at("web", pending, "db"), at("db", held)}, []outcome{held, held}},
		"chain":   {"one waits for another that waits", []seen{at("edge", pending, "web"), at("web", pending, "db"), at("db", failed)}, []outcome{failed, failed, failed}},
		"stopped": {"only an operator starts the other", []seen{at("web", pending, "db"), stopped}, []outcome{held, converged}},
		"lacking": {"nobody brings what the other lacks", []seen{at("web", pending, "db"), lacking}, []outcome{failed, failed}},
		"pending": {"the other is on its way", []seen{at("web", pending, "db"), at("db", pending)}, []outcome{pending, pending}},
		"beside":  {"the trouble is another's", []seen{at("web", pending, "db"), at("db", pending), at("x", failed)}, []outcome{pending, pending, failed}},
		"foreign": {"somebody else may bring it", []seen{at("web", pending, "db"), at("x", failed)}, []outcome{pending, failed}},
	} {
		giveUp(tc.looks)
		for i, want := range tc.want {
			if got := tc.looks[i].outcome; got != want {
				t.Errorf("%s: %s: outcome %d, want %d: %s", name, tc.looks[i].ref, got, want, tc.reason)
			}
		}
	}

	looks := []seen{at("web", pending, "db"), at("db", held)}
	giveUp(looks)
	if text := verdict(looks).Error(); !strings.HasPrefix(text, "deployment/prod/web: message of web\n  Next: get deployment/prod/db ready; this goes on by itself") {
		t.Errorf("the verdict says\n%s", text)
	}
}

// TestJudgeNeeds: a release that waits for others says which ones.
func TestJudgeNeeds(t *testing.T) {
	object := api.Object{Kind: api.KindDeployment, Scope: "prod", Spec: []byte(`{"depends_on":{"workloads":["deployment/db"]}}`), Metadata: api.Metadata{Revision: 10}}
	for reason, want := range map[string][]api.Ref{
		"WaitingForDependency": {{Kind: api.KindDeployment, Scope: "prod", Name: "db"}}, "Progressing": nil,
	} {
		status := statusOf(10, api.Condition{Status: api.ConditionFalse, Reason: reason}, api.Condition{Status: api.ConditionTrue, Reason: reason})
		if got := judge(asked, object, status); got.outcome != pending || !slices.Equal(got.needs, want) {
			t.Errorf("%s: outcome %d, needs %v; want %v", reason, got.outcome, got.needs, want)
		}
	}
}

// TestTimedOutTroubles: a timeout reports failed objects too, not only those that are still pending.
func TestTimedOutTroubles(t *testing.T) {
	looks := []seen{{wait: asked, outcome: pending, message: "waits for db"}, {wait: asked, outcome: failed, message: "no bucket has the key"},
		{wait: asked, outcome: converged, message: "well"}}
	text := timedOut(looks, time.Minute).Error()
	if !strings.Contains(text, "waits for db") || !strings.Contains(text, "no bucket has the key") || strings.Contains(text, "well") {
		t.Errorf("it says\n%s", text)
	}
}
