package server

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

// TestEveryObjectOfACallIsFound: of any kind, also without a scope.
func TestEveryObjectOfACallIsFound(t *testing.T) {
	for _, kind := range api.Kinds {
		scopes := map[api.ScopeRule][]string{api.ScopeRequired: {"prod"}, api.ScopeOptional: {"prod", api.Unscoped},
			api.ScopeNone: {api.Unscoped}}[kind.Info().Scope]
		for _, scope := range scopes {
			ref := api.Ref{Kind: kind, Scope: scope, Name: "x"}
			data, err := json.Marshal(api.AuditData{Objects: []string{"deployment/other/y", ref.String()}})
			if err != nil {
				t.Fatal(err)
			}
			event := api.Event{Data: data}
			if !(eventFilter{kind: kind, scope: scope, name: "x"}).wants(event) {
				t.Errorf("%s is not found", ref)
			}
			if (eventFilter{kind: kind, scope: scope, name: "z"}).wants(event) {
				t.Errorf("another one than %s is found", ref)
			}
		}
	}
}
