package verbs

import (
	"encoding/json"
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
)

// TestADigestIsNoKey: a file of another scope, or a source tree, is there for nobody who only knows its digest.
func TestADigestIsNoKey(t *testing.T) {
	names := func(scope string, of string) api.Object {
		spec, _ := json.Marshal(map[string]any{"files": map[string]any{
			"a": map[string]any{"_source": "file", "digest": digest(of)}}})
		return api.Object{Kind: api.KindAsset, Scope: scope, Name: "thief", Spec: spec}
	}
	for of, want := range map[string]struct{ person, sync bool }{
		"of the bank": {person: false, sync: true}, // the sync has the scope
		"nowhere":     {}, "for all": {true, true}, "sent": {person: true},
	} {
		w, s := newAssetWorld(t)
		for _, text := range []string{"of the bank", "for all", "sent"} {
			s.files[digest(text)] = true
		}
		w.mustApply(names("bank", "of the bank"), names(api.Unscoped, "for all"))
		ctx := WithSent(WithRights(t.Context(), source.Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}}),
			func(of string) bool { return of == digest("sent") })
		opts := w.asSync(plainSync)
		_, err := w.service.Apply(ctx, []api.Object{names("prod", of)}, ApplyOptions{})
		if (err == nil) != want.person {
			t.Errorf("%s, a person: %v", of, err)
		}
		if err != nil {
			wantReason(t, err, Invalid)
		}
		if _, err := w.apply(opts, names("shop", of)); (err == nil) != want.sync {
			t.Errorf("%s, a sync: %v", of, err)
		}
		_, err = w.service.Apply(ctx, []api.Object{built("b", digest(of))}, ApplyOptions{})
		if (err == nil) != want.person {
			t.Errorf("%s, as a source: %v", of, err)
		}
		if _, err := w.service.Apply(t.Context(), []api.Object{names("prod", of)}, ApplyOptions{}); (err == nil) !=
			slices.Contains([]string{"of the bank", "for all", "sent"}, of) {
			t.Errorf("%s, an admin: %v", of, err)
		}
	}
}
