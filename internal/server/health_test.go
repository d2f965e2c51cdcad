package server_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/server"
)

func TestReadyz(t *testing.T) {
	var mu sync.Mutex
	missing := []string{"deployments are being replayed"}
	w := newWorld(t, func(o *server.Options) {
		o.Missing = func() []string { mu.Lock(); defer mu.Unlock(); return missing }
	})
	ready, err := w.client.Readiness(t.Context())
	if err != nil || ready.Ready || !cmp.Equal(ready.Missing, missing) {
		t.Errorf("%+v, %v", ready, err)
	}
	if response, _ := w.raw("GET", "/readyz", "", ""); response.StatusCode != 503 {
		t.Errorf("status %d, want 503", response.StatusCode)
	}
	mu.Lock()
	missing = nil
	mu.Unlock()
	if ready, err := w.client.Readiness(t.Context()); err != nil || !ready.Ready {
		t.Errorf("%+v, %v", ready, err)
	}
}

func TestPanicIsAProblem(t *testing.T) {
	broken := newWorld(t, func(o *server.Options) { o.Missing = func() []string { panic("boom") } })
	response, body := broken.raw("GET", "/readyz", "", "")
	problem := wantProblem(t, response, body, 500)
	if strings.Contains(body, "boom") || !strings.Contains(problem.Next, "log") {
		t.Errorf("the problem of a panic: %s", body)
	}
	if _, err := broken.client.Nodes(t.Context()); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

func TestOpenAPI(t *testing.T) {
	w := newWorld(t)
	response, body := w.raw("GET", "/openapi.json", "", "")
	var document struct {
		OpenAPI string                                `json:"openapi"`
		Paths   map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(body), &document); err != nil || response.StatusCode != 200 {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	if !strings.HasPrefix(document.OpenAPI, "3.1") {
		t.Errorf("version %s, want 3.1", document.OpenAPI)
	}
	want := map[string]string{"/v1/apply": "post", "/v1/objects/{kind}": "get",
		"/v1/objects/{kind}/{scope}/{name}": "get delete",
		"/v1/releases":                      "get", "/v1/pods": "get", "/v1/pods/{pod}": "get", "/v1/pods/{pod}/ready": "get",
		"/v1/pods/{pod}/logs": "get",
		"/v1/logs":            "get", "/v1/pods/{pod}/exec": "get", "/v1/pods/{pod}/stop": "post",
		"/v1/pods/{pod}/start": "post",
		"/v1/config":           "get post", "/v1/tokens": "get post", "/v1/tokens/{name}": "delete", "/v1/nodes": "get",
		"/v1/system/disk": "get", "/v1/system/prune": "post", "/v1/nodes/tokens": "get post",
		"/v1/nodes/tokens/{id}": "delete",
		"/v1/nodes/{node}":      "delete",
		"/v1/servers":           "get", "/v1/servers/{name}": "delete", "/v1/keys": "get", "/v1/keys/{name}/rotate": "post",
		"/v1/stats": "get", "/v1/blobs/{digest}": "get put head",
		"/v1/builds/{scope}/{name}/{id}/log":  "get",
		"/v1/runs":                            "get",
		"/v1/runs/{kind}/{scope}/{name}/{id}": "get",
		"/v1/events":                          "get", "/v1/audit": "get", "/v1/await": "post", "/v1/backup": "get post", "/v1/rebalance": "post",
		"/v1/resume": "post", "/v1/deliveries": "get",
		"/v1/ingress/ca": "get", "/v1/plugins": "get post", "/v1/plugins/{name}": "delete",
		"/plugin/{name}/{command}": "post", "/healthz": "get", "/readyz": "get", "/version": "get", "/metrics": "get"}
	for _, verb := range strings.Fields("scale restart rebootstrap rollback build stop start run run-release extend end reconcile approve " +
		"poll pause resume maintenance test token availability ingress down") {
		want["/v1/objects/{kind}/{scope}/{name}/"+verb] = "post"
	}
	for path, methods := range want {
		for method := range strings.FieldsSeq(methods) {
			if document.Paths[path][method] == nil {
				t.Errorf("%s %s is not in the document", method, path)
			}
		}
	}
	for path := range document.Paths {
		if want[path] == "" {
			t.Errorf("%s is in the document but not in this list", path)
		}
	}
	_, metrics := w.raw("GET", "/metrics", "", "")
	if !strings.Contains(metrics, `tend_http_requests_total{code="200",route="GET /openapi.json"} 1`) {
		t.Errorf("the request isn't counted:\n%s", metrics)
	}
	if want := `tend_build_info{goversion="` + runtime.Version() + `",revision="`; !strings.Contains(metrics, want) {
		t.Errorf("nothing says %s:\n%s", want, metrics)
	}
}
