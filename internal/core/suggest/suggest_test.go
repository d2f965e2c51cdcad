package suggest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

func TestNearest(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, word string
		known        []string
		want         string
	}{
		"swapped":       {"two letters changed places", "wbe", []string{"db", "web", "api"}, "web"},
		"one letter":    {"a letter is missing", "imge", []string{"image", "ports"}, "image"},
		"short":         {"of three letters only one may be wrong", "api", []string{"web"}, ""},
		"one of one":    {"nothing of it is right", "a", []string{"b"}, ""},
		"longer":        {"every third letter may be wrong", "replcia", []string{"replicas"}, "replicas"},
		"far":           {"another word", "always", []string{"restart"}, ""},
		"nearest":       {"the one with the fewest wrong letters", "stagin", []string{"string", "staging"}, "staging"},
		"two as near":   {"it may be either", "wep", []string{"web", "wet"}, ""},
		"nearer later":  {"two were as near, until a nearer one", "webb", []string{"wabs", "wobs", "web"}, "web"},
		"shorter":       {"too little of it is left", "prune", []string{"run", "logs"}, ""},
		"begun":         {"a word that goes on", "deploy", []string{"deployment", "job"}, "deployment"},
		"begun twice":   {"two go on", "deploy", []string{"deployment", "deployments-of"}, ""},
		"twice the one": {"a name that is listed twice is one", "prod", []string{"production", "production"}, "production"},
		"itself":        {"the word isn't a slip of itself", "web", []string{"web"}, ""},
		"nothing":       {"nothing is known", "web", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(tc.word, tc.known); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	if got := Question("imagee", []string{"image"}); got != `did you mean "image"?` {
		t.Error(got)
	}
	if got := Question("imagee", []string{"ports"}); got != "" {
		t.Error(got)
	}
}

func TestObject(t *testing.T) {
	web := api.Ref{Kind: api.KindDeployment, Scope: "acme", Name: "web"}
	there := []api.Ref{
		{Kind: api.KindIngress, Scope: "acme", Name: "web"}, web,
		{Kind: api.KindDeployment, Scope: "staging", Name: "web"},
		{Kind: api.KindStatefulSet, Scope: "acme", Name: "db"},
		{Kind: api.KindSink, Scope: api.Unscoped, Name: "on-call"},
	}
	for name, tc := range map[string]struct {
		reason string
		asked  api.Ref
		want   string
	}{
		"name":        {"what runs wins over its ingress", api.Ref{Scope: "acme", Name: "wbe"}, "deployment/acme/web"},
		"scope":       {"the scope is wrong", api.Ref{Scope: "acm", Name: "web"}, "deployment/acme/web"},
		"both":        {"each is nearly right", api.Ref{Scope: "amce", Name: "wbe"}, "deployment/acme/web"},
		"bare":        {"no scope is named, and one has such a name", api.Ref{Name: "dbb"}, "statefulset/acme/db"},
		"bare of two": {"no scope is named, and two have such a name", api.Ref{Name: "wbe"}, ""},
		"kind": {"a wrong name of the right kind",
			api.Ref{Kind: api.KindIngress, Scope: "acme", Name: "wbe"}, "ingress/acme/web"},
		"another kind": {"the right name of another kind", api.Ref{Kind: api.KindStatefulSet, Scope: "acme", Name: "web"},
			"deployment/acme/web"},
		"unscoped": {"what is in no scope",
			api.Ref{Kind: api.KindSink, Scope: api.Unscoped, Name: "oncall"}, "sink/on-call"},
		"far":       {"another name", api.Ref{Scope: "acme", Name: "worker"}, ""},
		"far scope": {"the name is in other scopes alone", api.Ref{Scope: "review", Name: "web"}, ""},
		"kind and far": {"a wrong name of another kind is too much",
			api.Ref{Kind: api.KindStatefulSet, Scope: "acme", Name: "wbe"}, ""},
		"there": {"what is there is no slip", web, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the order doesn't matter
				got, ok := Object(tc.asked, slices.Values(there))
				if !ok && tc.want == "" {
					continue
				}
				if got.String() != tc.want {
					t.Errorf("%s: %s, want %q", tc.reason, got, tc.want)
				}
				slices.Reverse(there)
			}
		})
	}
}

// TestAddress: an address is suggested in the form in which one was asked for, with what a command needs to find the
// object.
func TestAddress(t *testing.T) {
	there := []api.Ref{{Kind: api.KindDeployment, Scope: "acme", Name: "web"}, {Kind: api.KindSink, Scope: api.Unscoped, Name: "on-call"}}
	for name, tc := range map[string]struct {
		reason string
		asked  api.Ref
		want   string
	}{
		"short":    {"no kind was named", api.Ref{Scope: "acme", Name: "wbe"}, "acme/web"},
		"whole":    {"a kind was named", api.Ref{Kind: api.KindDeployment, Scope: "acme", Name: "wbe"}, "deployment/acme/web"},
		"unscoped": {"a name alone would be one in a scope", api.Ref{Name: "oncall"}, "sink/on-call"},
		"far":      {"none is near", api.Ref{Scope: "acme", Name: "worker"}, ""},
	} {
		if got := Address(tc.asked, slices.Values(there)); got != tc.want {
			t.Errorf("%s: %s: %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

// TestDistance: it is a distance, and one slip counts one.
func TestDistance(t *testing.T) {
	word := rapid.StringMatching(`[a-e]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := Distance(a, b)
		if d != Distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < len(a)-len(b) {
			t.Fatalf("%q and %q are %d apart", a, b, d)
		}
		at := rapid.IntRange(0, len(a)).Draw(t, "at")
		if Distance(a, a[:at]+"z"+a[at:]) != 1 {
			t.Fatalf("a letter more in %q at %d", a, at)
		}
		if at > 1 && a[at-1] != a[at-2] && Distance(a, a[:at-2]+string(a[at-1])+string(a[at-2])+a[at:]) != 1 {
			t.Fatalf("two letters of %q changed places before %d", a, at)
		}
	})
	if long := strings.Repeat("x", 65); Distance(long, long[1:]) != 65 {
		t.Error("long words are not compared letter by letter")
	}
}
