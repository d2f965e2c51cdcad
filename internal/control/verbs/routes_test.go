package verbs

import (
	"encoding/json"
	"testing"
	"time"

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
		"other host": {"another host is free", []api.Object{ingressObject("prod", "b", `{"host":"b.example.org"}`)},
			""},
		"other path": {"another path of the same host is free",
			[]api.Object{ingressObject("prod", "b", `{"host":"app.example.org","locations":[{"path":"/b"}]}`)}, ""},
		"same again": {"an ingress may keep its own", []api.Object{stored}, ""},
		"moved": {"what its owner gives up in the same apply is free",
			[]api.Object{ingressObject("prod", "web", `{"host":"c.example.org"}`),
				ingressObject("prod", "b", `{"host":"app.example.org"}`)}, ""},
		"no path": {"without locations an ingress takes the root",
			[]api.Object{ingressObject("prod", "b", `{"host":"app.example.org"}`)}, RouteTaken},
		"other scope": {"hosts are of the whole machine, not of a scope",
			[]api.Object{ingressObject("dev", "web", `{"host":"app.example.org","locations":[{"path":"/api"}]}`)},
			RouteTaken},
		"a slash": {"a slash at its end makes no other path",
			[]api.Object{ingressObject("dev", "web", `{"host":"app.example.org","locations":[{"path":"/api/"}]}`)},
			RouteTaken},
		"same apply": {"two of one apply",
			[]api.Object{ingressObject("prod", "b", `{"host":"b.example.org"}`),
				ingressObject("prod", "c", `{"host":"B.example.org"}`)}, RouteTaken},
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
	if _, err := w.service.Delete(t.Context(),
		TargetOf(api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "web"}), "me"); err != nil {
		t.Fatal(err)
	}
	w.mustApply(ingressObject("prod", "other", `{"host":"app.example.org"}`))
}

// TestAHostBelongsToTheScopeThatClaimedItFirst: whatever the names and ages of the objects are, until it is shared.
func TestAHostBelongsToTheScopeThatClaimedItFirst(t *testing.T) {
	tls := `,"tls":{"provider":"internal"}`
	for name, tc := range map[string]struct {
		reason string
		object api.Object
		want   Reason
		field  string
	}{
		"another path": {"/login belongs to the host's scope",
			ingressObject("a", "b", `{"host":"bank.example","locations":[{"path":"/login"}]}`), RouteTaken, "host"},
		"the same path": {"said once: the host says it of each of its paths",
			ingressObject("a", "b", `{"host":"bank.example"}`), RouteTaken, "host"},
		"in capitals": {"names have no case",
			ingressObject("a", "b", `{"host":"BANK.example","locations":[{"path":"/login"}]}`), RouteTaken, "host"},
		"below a wildcard": {"it would take requests of the wildcard",
			ingressObject("a", "b", `{"host":"x.apps.bank.example"}`), RouteTaken, "host"},
		"above it": {"the owner's own host goes before", ingressObject("a", "b", `{"host":"*.example"}`), "", ""},
		"a lab":    {"labs have hosts too", routedLab("a", "b", "bank.example"), RouteTaken, "host"},
		"the owner's": {"in its scope there are no borders",
			ingressObject("bank", "b", `{"host":"bank.example","locations":[{"path":"/login"}]}`), "", ""},
		"shared with it": {"the owner decides",
			ingressObject("shop", "b", `{"host":"bank.example","locations":[{"path":"/shop"}]}`), "", ""},
		"a challenge of it": {"an authority would give the guest a certificate of the whole host",
			ingressObject("shop", "b", `{"host":"bank.example","locations":[{"path":"/.well-known/acme-challenge/"}]}`),
			RouteTaken, "locations[0].path"},
		"the owner's challenges": {"the host is its own",
			ingressObject("bank", "b", `{"host":"bank.example","locations":[{"path":"/.well-known/acme-challenge"}]}`), "", ""},
		"moved there": {"an older object doesn't make an older claim",
			ingressObject("a", "older", `{"host":"bank.example","locations":[{"path":"/login"}]}`), RouteTaken, "host"},
		"other TLS": {"a host has one policy",
			ingressObject("bank", "b", `{"host":"bank.example","tls":{"email":"me@a.example"},"locations":[{"path":"/x"}]}`),
			RouteTaken, "tls"},
		"without TLS": {"on purpose: the policy is another",
			ingressObject("bank", "b", `{"host":"bank.example","tls":{"enabled":false},"locations":[{"path":"/x"}]}`),
			RouteTaken, "tls"},
		"same TLS": {"as declared before",
			ingressObject("shop", "b", `{"host":"bank.example","locations":[{"path":"/x"}]`+tls+`}`), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			now := testTime
			w := newWorld(t, func(o *Options) { o.Now = func() time.Time { now = now.Add(time.Minute); return now } })
			w.mustApply(ingressObject("a", "older", `{"host":"a.example"}`))
			w.mustApply(ingressObject("bank", "web", `{"host":"Bank.example","shared_with":["shop"]`+tls+`}`),
				ingressObject("bank", "apps", `{"host":"*.apps.bank.example"}`))
			_, err := w.apply(ApplyOptions{}, tc.object)
			if tc.want == "" {
				if err != nil {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				return
			}
			if refused := wantReason(t, err, tc.want); len(refused.Errors) != 1 ||
				refused.Errors[0].Field != tc.field {
				t.Errorf("%s: %v", tc.reason, refused.Errors)
			}
		})
	}
}

// TestAHostIsInheritedByTheNextClaim: an owner may go on as before when it takes back what it shared, and its host is
// free when it goes.
func TestAHostIsInheritedByTheNextClaim(t *testing.T) {
	w := newWorld(t)
	owner := ingressObject("bank", "web", `{"host":"bank.example","shared_with":["shop"]}`)
	guest := ingressObject("shop", "web", `{"host":"bank.example","locations":[{"path":"/shop"}]}`)
	w.mustApply(owner)
	w.mustApply(guest)
	owner.Spec = json.RawMessage(`{"host":"bank.example"}`)
	w.mustApply(owner)
	guest.Spec = json.RawMessage(`{"host":"bank.example","locations":[{"path":"/shop"},{"path":"/more"}]}`)
	_, err := w.apply(ApplyOptions{}, guest)
	wantReason(t, err, RouteTaken)
	if _, err := w.service.Delete(t.Context(), TargetOf(owner.Ref()), "me"); err != nil {
		t.Fatal(err)
	}
	w.mustApply(guest)
	_, err = w.apply(ApplyOptions{}, owner)
	wantReason(t, err, RouteTaken)
}

func routedLab(scope, name, host string) api.Object {
	return api.Object{Kind: api.KindLab, Scope: scope, Name: name,
		Spec: json.RawMessage(`{"image":"a","owner":"a@b.example","duration":"1h","host":"` + host + `"}`)}
}
