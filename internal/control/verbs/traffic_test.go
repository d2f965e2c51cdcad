package verbs

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestTraffic: a person's setting for an ingress's requests survives applies, does not change the spec, and is only
// written if it changes something.
func TestTraffic(t *testing.T) {
	w := newWorld(t)
	shop := api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "shop"}
	ingress := api.Object{Kind: shop.Kind, Scope: shop.Scope, Name: shop.Name, Spec: []byte(`{"host":"shop.org"}`)}
	w.mustApply(ingress)
	for _, step := range []struct{ verb, query, want string }{
		{"pause", "", "paused"},
		{"maintenance", "message=back: at noon", "maintenance:back: at noon"},
		{"maintenance", "", "maintenance"},
		{"resume", "", ""},
	} {
		for _, changed := range []bool{true, false} {
			result, err := w.ask(step.verb, Target{Scope: "prod", Name: "shop"}, step.query)
			if err != nil || result.Changed != changed || result.Generation != 1 {
				t.Errorf("%v: %+v %v", step, result, err)
			}
		}
		w.mustApply(ingress)
		if got := w.object(shop).Metadata.Stamps[api.StampTraffic]; got != step.want {
			t.Errorf("after an apply it is %q, want %q", got, step.want)
		}
	}
}

func TestTrafficRefuses(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	for name, step := range map[string]struct {
		target      Target
		verb, query string
		want        Reason
	}{
		"no ingress":             {TargetOf(ref("prod", "web")), "pause", "", Invalid},
		"nobody":                 {Target{Name: "shop"}, "pause", "", NotFound},
		"a long message":         {Target{Name: "shop"}, "maintenance", "message=" + strings.Repeat("x", 501), Invalid},
		"a message of two lines": {Target{Name: "shop"}, "maintenance", "message=a%0Ab", Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.ask(step.verb, step.target, step.query)
			wantReason(t, err, step.want)
		})
	}
}
