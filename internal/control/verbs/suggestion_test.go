package verbs

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
)

// TestSuggestion: the address that was probably meant is one that the person may know of.
func TestSuggestion(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("acme", "web", `{"image":"web:1"}`), deployment("acme-eu", "web", `{"image":"web:1"}`))
	limited := WithRights(t.Context(), source.Rights{Person: "carol is deployer of acme-us",
		Scopes: []string{"acme-us"}})
	for name, tc := range map[string]struct {
		reason  string
		target  Target
		all     string
		limited string
	}{
		"name":  {"the name is wrong", Target{Scope: "acme", Name: "wbe"}, "acme/web", ""},
		"scope": {"the scope is wrong", Target{Scope: "acme-us", Name: "web"}, "acme-eu/web", ""},
		"kind": {"a kind is named too", Target{Kind: api.KindDeployment, Scope: "acme", Name: "wbe"},
			"deployment/acme/web", ""},
		"far": {"nothing is near", Target{Scope: "acme", Name: "database"}, "", ""},
	} {
		_, err := tc.target.Resolve(w.snapshot())
		refused := wantReason(t, err, NotFound)
		if got := Suggestion(t.Context(), w.snapshot(), refused); got != tc.all {
			t.Errorf("%s: %s: %q, want %q", name, tc.reason, got, tc.all)
		}
		if got := Suggestion(limited, w.snapshot(), refused); got != tc.limited {
			t.Errorf("%s: someone without rights learns of %q", name, got)
		}
	}
	if got := Suggestion(t.Context(), w.snapshot(), &Error{Reason: Invalid, Detail: "no address"}); got != "" {
		t.Errorf("another error suggests %q", got)
	}
}

// TestConfigOfNobody: values for an app that isn't there are stored with a note, which names what was probably meant of
// what the person may know of.
func TestConfigOfNobody(t *testing.T) {
	w := newWorld(t, withKeys)
	w.mustApply(deployment("acme", "web", `{"image":"web:1"}`),
		deployment("other", "edge", `{"image":"web:1","env_from":["acme/shared"]}`))
	carol := WithRights(t.Context(), source.Rights{Person: "carol is deployer of acm", Scopes: []string{"acm"}})
	for name, tc := range map[string]struct {
		reason string
		bucket Bucket
		want   string
	}{
		"typo": {"another app is near", Bucket{"acme", "wbe"},
			"there is no acme/wbe yet (did you mean acme/web?); stored all the same; to take it back: tend config unset acme/wbe A"},
		"first": {"values may come before the app", Bucket{"acme", "database"},
			"there is no acme/database yet; stored all the same; to take it back: tend config unset acme/database A"},
		"there":  {"the app reads it", Bucket{"acme", "web"}, ""},
		"shared": {"others read it", Bucket{"acme", "shared"}, ""},
		"scope": {"a scope is near", Bucket{Scope: "acm"},
			"there is no scope acm yet (did you mean acme?); stored all the same; to take it back: tend config unset acm A"},
		"name": {"an app has that name", Bucket{Scope: "web"},
			"there is no scope web yet (did you mean acme/web?); stored all the same; to take it back: tend config unset web A"},
	} {
		set := ConfigChange{Set: map[string]string{"A": "1"}}
		got, err := w.service.SetConfig(t.Context(), tc.bucket, set)
		if err != nil {
			t.Fatal(err)
		}
		if note := only(got.Notes); note != tc.want {
			t.Errorf("%s: %s: %q, want %q", name, tc.reason, note, tc.want)
		}
		again, err := w.service.SetConfig(t.Context(), tc.bucket, set)
		if err != nil || len(again.Notes) > 0 {
			t.Errorf("%s: it is said again: %v, %v", name, again.Notes, err)
		}
	}
	got, err := w.service.SetConfig(carol, Bucket{Scope: "acm"}, ConfigChange{Set: map[string]string{"B": "1"}})
	if want := "there is no scope acm yet; stored all the same; to take it back: tend config unset acm B"; err != nil || only(got.Notes) != want {
		t.Errorf("someone without rights learns %v, %v", got.Notes, err)
	}
}

func only(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}
