package docker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// TestErrorsNameThePod: whatever the engine fails to do with a container, the error has the container's name, which is
// the pod's, and not its id, also where the engine's own text has the id, whole or short.
func TestErrorsNameThePod(t *testing.T) {
	const pod = "shop-web.1a2b3c4d"
	id := strings.Repeat("0123456789abcdef", 4)
	engine := namedEngine(t, "engine", func(mux http.Handler) *httptest.Server {
		mux.(*http.ServeMux).HandleFunc("/v1.41/containers/", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/json") {
				_ = json.NewEncoder(w).Encode(map[string]any{"Id": id, "Name": "/" + pod,
					"Config": map[string]any{"Labels": map[string]string{api.LabelCluster: "c"}}})
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprintf(w, `{"message":"cannot do it to %s: container %s is odd"}`, id, id[:12])
		})
		return httptest.NewServer(mux)
	})
	for name, do := range map[string]func(*Runtime) error{
		"start":  func(r *Runtime) error { return r.Start(t.Context(), id) },
		"stop":   func(r *Runtime) error { return r.Stop(t.Context(), id, 0) },
		"remove": func(r *Runtime) error { return r.Remove(t.Context(), id) },
		"logs":   func(r *Runtime) error { _, err := r.Logs(t.Context(), id, runtime.LogOptions{}); return err },
		"stats":  func(r *Runtime) error { _, err := r.Stats(t.Context(), id); return err },
		"exec": func(r *Runtime) error {
			_, err := r.Exec(t.Context(), id, runtime.ExecOptions{Command: []string{"sh"}})
			return err
		},
	} {
		rt, err := New(t.Context(), Options{Host: addressOf(engine), Cluster: "c", Node: "n"})
		if err != nil {
			t.Fatal(err)
		}
		err = do(rt)
		if err == nil || strings.Contains(err.Error(), id[:12]) || strings.Count(err.Error(), pod) != 3 {
			t.Errorf("%s: %v", name, err)
		}
		rt.Close()
	}
}
