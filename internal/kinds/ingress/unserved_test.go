package ingress

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
)

// TestALocationOfAGuestThatIsNotServed: the rest is served, and the condition says which path isn't, and what helps.
func TestALocationOfAGuestThatIsNotServed(t *testing.T) {
	l := newHarness(t)
	l.proxy(nil)
	l.object(web, api.DeploymentSpec{}, nil)
	l.pod("w1", true)
	owner := api.Ref{Kind: api.KindIngress, Scope: "bank", Name: "web"}
	l.object(owner, api.IngressSpec{Host: "shop.example", SharedWith: []string{"prod"}},
		map[string]string{api.StampHost: "2026-01-01T00:00:00Z shop.example"})
	result, err := l.c.Reconcile(t.Context(), control.Key(owner))
	if err == nil {
		err = l.view.WaitFor(t.Context(), result.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	looks := func(locations ...api.IngressLocation) (ready, degraded *api.Condition) {
		l.object(shop, api.IngressSpec{Host: "shop.example", Service: "web", Locations: locations},
			map[string]string{api.StampHost: "2026-01-02T00:00:00Z shop.example"})
		conditions := l.look().Conditions
		return api.FindCondition(conditions, api.ConditionReady), api.FindCondition(conditions, api.ConditionDegraded)
	}
	ready, c := looks(api.IngressLocation{Path: "/shop"}, api.IngressLocation{Path: "/.well-known/acme-challenge"})
	if ready.Status != api.ConditionTrue || c.Status != api.ConditionTrue || c.Reason != api.ReasonHostTaken ||
		!strings.HasPrefix(c.Message, "locations[1].path is not served: ") || strings.Contains(c.Message+c.Next, "bank") ||
		!strings.HasPrefix(c.Next, "leave the location out") {
		t.Errorf("%+v, %+v", ready, c)
	}
	if ready, c = looks(api.IngressLocation{Path: "/shop"}); ready.Status != api.ConditionTrue ||
		c.Status != api.ConditionFalse {
		t.Errorf("without it: %+v, %+v", ready, c)
	}
}
