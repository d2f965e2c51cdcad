package verbs

import (
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestTheKindsOfAVerbAreNamed: the next step names every kind that the verb takes, as the kinds' table has it.
func TestTheKindsOfAVerbAreNamed(t *testing.T) {
	w := newWorld(t)
	w.mustApply(api.Object{Kind: api.KindRegistry, Scope: api.Unscoped, Name: "ghcr", Spec: []byte(`{"url":"ghcr.io"}`)})
	target := TargetOf(api.Ref{Kind: api.KindRegistry, Scope: api.Unscoped, Name: "ghcr"})
	for verb, tc := range map[string]struct {
		call func() error
		want string
	}{
		"stop": {func() error { _, err := w.service.Freeze(t.Context(), target, nil, "ada"); return err },
			"name a deployment, a statefulset, a job, a cronjob or a lab"},
		"restart": {func() error { _, err := w.service.Restart(t.Context(), target, "ada"); return err },
			"name a deployment or a statefulset"},
	} {
		err := tc.call()
		var refused *Error
		if !errors.As(err, &refused) || refused.Next != tc.want {
			t.Errorf("%s: %v, want the next step %q", verb, err, tc.want)
		}
	}
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		if text := nameOne(api.Kind.HasContainers); kind.Stored() && !strings.Contains(text, string(kind)) {
			t.Errorf("%q lacks %s", text, kind)
		}
	}
}
