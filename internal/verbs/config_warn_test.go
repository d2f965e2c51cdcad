package verbs

import (
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
