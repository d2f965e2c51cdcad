package docker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tend.dev/tend/internal/node/runtime"
)

// TestAConfinedBuildQuotesNoRefusal: an engine that fails before it has shown a step answers with a status, else in
// its output, with the same words; no base image that the Dockerfile names is at fault. What the engine lacks is still
// named.
func TestAConfinedBuildQuotesNoRefusal(t *testing.T) {
	var status int
	var message string
	engine := namedEngine(t, "engine", func(mux http.Handler) *httptest.Server {
		mux.(*http.ServeMux).HandleFunc("/v1.41/build", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"message":%[1]q,"errorDetail":{"message":%[1]q}}`, message)
		})
		return httptest.NewServer(mux)
	})
	rt, err := New(t.Context(), Options{Host: addressOf(engine), Cluster: "c", Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for _, status = range []int{http.StatusOK, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		for said, want := range map[string]string{
			"Get http://10.0.0.1/: 418: SECRET":            "the engine's words are not shown",
			"write /SECRET: no space left on device":       "no disk space left",
			"SECRET: the --mount option requires BuildKit": "classic builder",
		} {
			if message = said; status == http.StatusServiceUnavailable {
				want = "container engine does not answer"
			}
			_, err := rt.Build(t.Context(), runtime.BuildSpec{Confined: true, Tags: []string{"a"}}, func(string) {})
			if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), want) {
				t.Errorf("%d, %s: %v, want %s", status, said, err, want)
			}
		}
	}
}
