package verbs

import (
	"slices"
	"strings"
	"testing"
)

// TestConfigWarnsOfIdentities: a name that Tend sets itself is stored, with a warning.
func TestConfigWarnsOfIdentities(t *testing.T) {
	w := newWorld(t, withKeys)
	result, err := w.service.SetConfig(t.Context(), Bucket{Scope: "prod"}, ConfigChange{Set: map[string]string{"TEND_SCOPE": "x", "TEND_TOKEN": "x"}})
	if err != nil || len(result.Created) != 2 || len(result.Warnings) != 1 || !strings.HasPrefix(result.Warnings[0], "TEND_SCOPE reaches no container") {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestConfigWarnsOfWhatAManifestSets: its value wins, so what is set reaches no container.
func TestConfigWarnsOfWhatAManifestSets(t *testing.T) {
	w := newWorld(t, withKeys)
	w.mustApply(deployment("prod", "web", `{"image":"a","env":{"PASSWORD":"old","URL":"db://${config.PASSWORD}@db"}}`), deployment("prod", "api", `{"image":"a"}`))
	for name, c := range map[string]struct {
		key  string
		want []string
	}{
		"set there":      {"PASSWORD", []string{"PASSWORD is in env of the manifest of deployment/prod/web, whose value wins: take it out there"}},
		"made of config": {"URL", nil},
		"set nowhere":    {"OTHER", nil},
	} {
		result, err := w.service.SetConfig(t.Context(), Bucket{Scope: "prod"}, ConfigChange{Set: map[string]string{c.key: "new"}})
		if err != nil || !slices.Equal(result.Warnings, c.want) {
			t.Errorf("%s: %q, %v", name, result.Warnings, err)
		}
	}
}
