package api

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestReferenceToItself: no order of applies ever resolves it, so it isn't stored.
func TestReferenceToItself(t *testing.T) {
	for text, refused := range map[string]bool{
		"${ref.deployment.web.host}":      true,
		"${ref.deployment.prod.web.port}": true,
		"$${ref.deployment.web.host}":     false,
		"${ref.deployment.test.web.host}": false,
		"${ref.statefulset.web.host}":     false,
	} {
		spec, err := json.Marshal(DeploymentSpec{Container: Container{Image: "web:1", Env: map[string]string{"A": text}}})
		if err != nil {
			t.Fatal(err)
		}
		found := ValidateObject(Object{Kind: KindDeployment, Scope: "prod", Name: "web", Spec: spec})
		if refused != (len(found) == 1 && strings.Contains(found[0].Detail, "can't refer to itself")) ||
			!refused && len(found) > 0 {
			t.Errorf("%s: %v, want refused: %v", text, found, refused)
		}
	}
}
