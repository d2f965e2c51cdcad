package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestAddingAClusterThatCannotRegisterDeclaresNothing: a server without a listener for operators refuses, and nothing
// is applied. A cluster that is not declared is declared, and then invited.
func TestAddingAClusterThatCannotRegisterDeclaresNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		asked  []string
	}{
		"refused":      {http.StatusConflict, []string{"token"}},
		"not declared": {http.StatusNotFound, []string{"token", "apply", "token"}},
	} {
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/token") {
				asked = append(asked, "apply")
				_ = json.NewEncoder(w).Encode(api.ApplyResult{})
				return
			}
			if asked = append(asked, "token"); len(asked) > 1 {
				_ = json.NewEncoder(w).Encode(api.ClusterRegistration{Cluster: "east"})
				return
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(tc.status)
			_ = json.NewEncoder(w).Encode(api.Problem{Status: tc.status, Detail: "by the test"})
		}))
		a := &app{server: server.URL, streams: streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard}}
		command := a.addClusterCommand()
		command.SetArgs([]string{"east"})
		command.SilenceErrors, command.SilenceUsage = true, true
		err := command.ExecuteContext(t.Context())
		if refused := tc.status == http.StatusConflict; (err != nil) != refused || !slices.Equal(asked, tc.asked) {
			t.Errorf("%s: %v, asked for %v, want %v", name, err, asked, tc.asked)
		}
		server.Close()
	}
}
