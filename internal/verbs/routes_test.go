package verbs

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

func ingressObject(scope, name, spec string) api.Object {
	return api.Object{Kind: api.KindIngress, Scope: scope, Name: name, Spec: json.RawMessage(spec)}
}

func TestRoutesAreClaimedOnce(t *testing.T) {
	stored := ingressObject("prod", "web", `{"host":"App.example.org","locations":[{"path":"/"},{"path":"/api"}]}`)
	cases := map[string]struct {
		reason  string
		objects []api.Object
		want    Reason
	}{
		"other host":  {"another host is free", []api.Object{ingressObject("prod", "b", `{"host":"b.example.org"}`)}, ""},
		"other path":  {"another path of the same host is free", []api.Object{ingressObject("prod", "b", `{"host":"app.example.org","locations":[{"path":"/b"}]}`)}, ""},
		"same again":  {"an ingress may keep its own", []api.Object{stored}, ""},
		"moved":       {"what its owner gives up in the same apply is free", []api.Object{ingressObject("prod", "web", `{"host":"c.example.org"}`), ingressObject("prod", "b", `{"host":"app.example.org"}`)}, ""},
		"no path":     {"without locations an ingress takes the root", []api.Object{ingressObject("prod", "b", `{"host":"app.example.org"}`)}, RouteTaken},
		"other scope": {"hosts are of the whole machine, not of a scope", []api.Object{ingressObject("dev", "web", `{"host":"app.example.org","locations":[{"path":"/api"}]}`)}, RouteTaken},
		"a slash":     {"a slash at its end makes no other path", []api.Object{ingressObject("dev", "web", `{"host":"app.example.org","locations":[{"path":"/api/"}]}`)}, RouteTaken},
		"same apply":  {"two of one apply", []api.Object{ingressObject("prod", "b", `{"host":"b.example.org"}`), ingressObject("prod", "c", `{"host":"B.example.org"}`)}, RouteTaken},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(stored)
			_, err := w.apply(ApplyOptions{}, tc.objects...)
			if tc.want == "" && err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if tc.want != "" {
				wantReason(t, err, tc.want)
			}
		})
	}
}

func TestADeletedIngressGoesAtOnce(t *testing.T) {
	w := newWorld(t)
	w.mustApply(ingressObject("prod", "web", `{"host":"app.example.org"}`))
	if _, err := w.service.Delete(t.Context(), TargetOf(api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "web"}), "me"); err != nil {
		t.Fatal(err)
	}
	w.mustApply(ingressObject("prod", "other", `{"host":"app.example.org"}`))
}
