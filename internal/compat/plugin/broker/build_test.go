package broker_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/control/verbs"
)

// An object of a macro that is built from source needs a tree. Without it nothing is done, and the answer names the
// object; a tree in the macro's stamps becomes the object's.
func TestMacroBuiltFromSource(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/bin/expand": answers(`{"manifests":[
	  {"kind":"deployment","name":"web","spec":{"build":{"context":"src","args":{"A":"1"}}}},{"kind":"deployment","name":"db","spec":{"image":"a:1"}}],
	  "actions":[{"type":"config_set","scope":"prod","name":"web","kv":{"A":"1"}}]}`)})
	before := w.stored()
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	for _, dry := range []bool{true, false} {
		_, err := w.apply("{kind: kv, scope: prod, name: m, spec: {}}", verbs.ApplyOptions{DryRun: dry})
		var wanted *broker.TreesError
		if !errors.As(err, &wanted) {
			t.Fatalf("dry %v: %v", dry, err)
		}
		want := []api.MacroBuild{{Macro: api.Ref{Kind: "kv", Scope: "prod", Name: "m"}, Object: web,
			Build: api.Build{Context: "src", Args: map[string]string{"A": "1"}}}}
		if diff := cmp.Diff(want, wanted.Builds); diff != "" {
			t.Errorf("dry %v: %s", dry, diff)
		}
	}
	if diff := cmp.Diff(before, w.stored()); diff != "" {
		t.Errorf("something was stored: %s", diff)
	}
	digest := "sha256:" + strings.Repeat("a", 64)
	result, err := w.apply("{kind: kv, scope: prod, name: m, metadata: {stamps: {build/deployment/prod/web: '"+digest+
		"', restart: 'no'}}, spec: {}}", verbs.ApplyOptions{DryRun: true})
	if err != nil || len(result.Objects) != 2 || result.Objects[0].Build == "" || result.Objects[1].Build != "" {
		t.Errorf("%+v, %v", result.Objects, err)
	}
}
