//go:build integration

package e2e

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
)

// receiver is a real HTTP server that records what it receives.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests []heard
	// answer returns the status for the nth request to a path, from 1; nil answers 200.
	answer func(path string, nth int) int
}

type heard struct {
	path, method, key, agent, contentType, authorization string
	body                                                 map[string]any
}

func newReceiver(t *testing.T, answer func(path string, nth int) int) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		h := heard{path: q.URL.Path, method: q.Method, key: q.Header.Get("Idempotency-Key"), agent: q.UserAgent(),
			contentType:   q.Header.Get("Content-Type"),
			authorization: q.Header.Get("Authorization")}
		raw, _ := io.ReadAll(q.Body)
		_ = json.Unmarshal(raw, &h.body)
		r.mu.Lock()
		r.requests = append(r.requests, h)
		r.mu.Unlock()
		if r.answer != nil {
			w.WriteHeader(r.answer(h.path, len(r.heard(h.path))))
		}
	}))
	t.Cleanup(r.Server.Close)
	return r
}

// heard returns the requests to a path, in order.
func (r *receiver) heard(path string) (out []heard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.requests {
		if h.path == path {
			out = append(out, h)
		}
	}
	return out
}

func informs(hooks api.DeployHooks) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.OnDeploy = &hooks }
}

// TestDeployWebhooks: three targets of a success are called once each, a flaky one until the third attempt. A dead
// one holds up no other. A failure is sent with its reason.
func TestDeployWebhooks(t *testing.T) {
	r := newReceiver(t, func(path string, nth int) int {
		if path == "/flaky" && nth < 3 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	dead, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dead.Close() })
	m := newMachine(t).start()
	hooks := api.DeployHooks{
		Success: []api.Webhook{
			{URL: "http://" + dead.Addr().String() + "/secret"},
			{URL: r.URL + "/plain"},
			{URL: r.URL + "/flaky"},
			{URL: r.URL + "/chat", Method: "PUT", Headers: map[string]string{"Content-Type": "application/vnd.chat+json"},
				Body: api.Payload{"text": "{{name}} {{release_id}} {{status}}",
					"blocks": []any{map[string]any{"image": "{{image}}"}}, "n": 1}},
		},
		Failure: []api.Webhook{{URL: r.URL + "/failure"}},
	}
	m.deploy(m.manifest("app", informs(hooks)))
	m.until("all that live are called", func() bool {
		return len(r.heard("/plain")) == 1 && len(r.heard("/chat")) == 1 && len(r.heard("/flaky")) == 3
	})
	plain := r.heard("/plain")[0]
	if plain.method != "POST" || plain.contentType != "application/json" ||
		!strings.HasPrefix(plain.agent, "tend-webhook/") || plain.key == "" ||
		plain.body["kind"] != "deployment" || plain.body["scope"] != m.scope || plain.body["release_id"] != "v1" ||
		plain.body["status"] != "success" {
		t.Errorf("got %+v", plain)
	}
	chat := r.heard("/chat")[0]
	if chat.method != "PUT" || chat.contentType != "application/vnd.chat+json" || chat.body["text"] != "app v1 success" ||
		chat.body["n"] != 1.0 ||
		chat.body["blocks"].([]any)[0].(map[string]any)["image"] != image("v1") {
		t.Errorf("got %+v", chat)
	}
	if flaky := r.heard("/flaky"); flaky[0].key != flaky[2].key {
		t.Error("another attempt has another key")
	}
	m.apply(m.manifest("app", informs(hooks), onFailure(api.OnFailureRollback),
		func(s *api.DeploymentSpec) { s.Command = []string{"/no/such/program"} }))
	m.until("the failure is sent", func() bool { return len(r.heard("/failure")) == 1 })
	failure := r.heard("/failure")[0].body
	if failure["release_id"] != "v2" || failure["status"] != "failure" || failure["error"] == "" {
		t.Errorf("got %v", failure)
	}
	m.until("it is back on v1", func() bool { return m.status("app").Rollout.Phase == api.RolloutRolledBack })
	m.wantSaid(m.tend("describe", m.scope+"/app"), 0, "on_deploy.success[1]", "delivered",
		"on_deploy.failure[0]", "v2 failed")
	if said := m.process.output.tail(); strings.Contains(said, "/secret") {
		t.Errorf("the log holds an address:\n%s", said)
	}
}
