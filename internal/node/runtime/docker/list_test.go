package docker

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// TestOneContainerTakesNoNodeOut: a container that the engine lists and fails to inspect, as with a lost layer, is as
// the list has it, and quarantined. An engine that is away is another matter.
func TestOneContainerTakesNoNodeOut(t *testing.T) {
	labels := map[string]string{api.LabelCluster: "c", api.LabelTask: "t"}
	item := func(id string) map[string]any {
		return map[string]any{"Id": id, "Names": []string{"/pod-" + id}, "State": "running", "Labels": labels, "Created": 60,
			"NetworkSettings": map[string]any{"Networks": map[string]any{"tend0": map[string]any{"IPAddress": "10.0.0.2"}}}}
	}
	answers := map[string]int{}
	engine := namedEngine(t, "engine", func(mux http.Handler) *httptest.Server {
		mux.(*http.ServeMux).HandleFunc("/v1.41/containers/json", func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode([]map[string]any{item("a"), item("b"), item("c")})
		})
		mux.(*http.ServeMux).HandleFunc("/v1.41/containers/{id}/json", func(w http.ResponseWriter, r *http.Request) {
			id := r.PathValue("id")
			if status := answers[id]; status != 0 {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(`{"message":"layer does not exist"}`))
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"Id": id, "Name": "/pod-" + id, "RestartCount": 1})
		})
		return httptest.NewServer(mux)
	})
	rt, err := New(t.Context(), Options{Host: addressOf(engine), Cluster: "c", Node: "n", NetworkName: "tend0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	listed := runtime.Container{ID: "b", Name: "pod-b", Labels: labels, State: runtime.StateRunning, Address: "10.0.0.2",
		CreatedAt: time.Unix(60, 0), Undescribed: true}
	for _, tc := range []struct {
		name        string
		b, c        int // what the engine answers to their inspections
		want        []runtime.Container
		quarantined []string
		err         error
	}{
		{"one is damaged, one gone", http.StatusInternalServerError, http.StatusNotFound,
			[]runtime.Container{{ID: "a", Name: "pod-a", RestartCount: 1}, listed},
			[]string{"pod-b (inspect container pod-b: layer does not exist)"}, nil},
		{"the engine ends", http.StatusInternalServerError, http.StatusServiceUnavailable, nil,
			[]string{"pod-b (inspect container pod-b: layer does not exist)"}, runtime.ErrUnavailable},
		{"whole again", 0, http.StatusNotFound, []runtime.Container{{ID: "a", Name: "pod-a", RestartCount: 1},
			{ID: "b", Name: "pod-b", RestartCount: 1}}, nil, nil},
	} {
		answers["b"], answers["c"] = tc.b, tc.c
		got, err := rt.List(t.Context())
		if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) {
			t.Errorf("%s: %v (-want +got):\n%s", tc.name, err, diff)
		}
		if info, err := rt.Info(t.Context()); err != nil || !slices.Equal(info.Quarantined, tc.quarantined) {
			t.Errorf("%s: quarantined are %q, %v", tc.name, info.Quarantined, err)
		}
	}
}
