package verbs

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
)

// TestConfigWarnsOfIdentities: a name that Tend sets itself is stored, with a warning, and changes no workload.
func TestConfigWarnsOfIdentities(t *testing.T) {
	w := newWorld(t, withKeys)
	w.mustApply(deployment("prod", "web", `{"image":"a"}`),
		api.Object{Kind: api.KindStatefulSet, Scope: "prod", Name: "db", Spec: []byte(`{"image":"a"}`)})
	for name, c := range map[string]struct {
		key  string
		want []string
	}{
		"everywhere": {"TEND_SCOPE",
			[]string{"TEND_SCOPE is overruled: Tend sets it in every container, to say who it is"}},
		"the old name": {"VOODU_NAME",
			[]string{"VOODU_NAME is overruled: Tend sets it in every container, to say who it is"}},
		"in statefulsets": {"TEND_REPLICA_ID",
			[]string{"TEND_REPLICA_ID is overruled: Tend sets it in the pods of statefulset/prod/db, to say who they are"}},
		"nowhere": {"TEND_TOKEN", nil},
	} {
		result, err := w.service.SetConfig(t.Context(), Bucket{Scope: "prod"},
			ConfigChange{Set: map[string]string{c.key: "x"}})
		if err != nil || len(result.Created) != 1 || !slices.Equal(result.Warnings, c.want) {
			t.Errorf("%s: %q, %v", name, result.Warnings, err)
		}
	}
}

// TestConfigWarnsOfWhatAManifestSets: its value wins, so what is set reaches no container.
func TestConfigWarnsOfWhatAManifestSets(t *testing.T) {
	w := newWorld(t, withKeys)
	w.mustApply(deployment("prod", "web", `{"image":"a","env":{"PASSWORD":"old","URL":"db://${config.PASSWORD}@db"}}`),
		deployment("prod", "api", `{"image":"a"}`))
	for name, c := range map[string]struct {
		key  string
		want []string
	}{
		"set there": {"PASSWORD",
			[]string{"PASSWORD is in env of the manifest of deployment/prod/web, whose value wins: take it out there"}},
		"made of config": {"URL", nil},
		"set nowhere":    {"OTHER", nil},
	} {
		result, err := w.service.SetConfig(t.Context(), Bucket{Scope: "prod"},
			ConfigChange{Set: map[string]string{c.key: "new"}})
		if err != nil || !slices.Equal(result.Warnings, c.want) {
			t.Errorf("%s: %q, %v", name, result.Warnings, err)
		}
	}
}
