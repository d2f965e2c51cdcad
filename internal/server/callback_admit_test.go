package server_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// TestACallIsAdmitted: whether a container may call now is asked once its token is known, with the object that has it,
// and the place that it gets is left at the end of the answer. A refusal changes nothing, and is in the audit.
func TestACallIsAdmitted(t *testing.T) {
	audit := &fakeAuditor{}
	w, _ := newPluginWorld(t, nil, func(o *server.Options) { o.Auditor = audit })
	object := made("cache", "u1", "kv/prod/cache")
	w.put(records.ObjectKey(object.Ref()), object)
	var asked []api.Ref
	var refusal error
	var inside atomic.Int64
	served := httptest.NewServer(w.server.Callbacks(
		func(w http.ResponseWriter, _ *http.Request, of api.Ref) (func(), error) {
			if asked = append(asked, of); refusal != nil {
				w.Header().Set("Retry-After", "7")
				return nil, refusal
			}
			inside.Add(1)
			return func() { inside.Add(-1) }, nil
		}))
	defer served.Close()
	at := func(token string) string { return served.URL + "/t/" + token + "/config?scope=prod&name=cache" }
	good, other := server.ContainerToken(mac, object), object
	other.Metadata.UID = "another life"
	for _, wrong := range []string{"x", "prod.cache.forged", good + "0", server.ContainerToken(mac, other)} {
		if status, got := ask(t, "POST", at(wrong), `{"A":"1"}`); status != http.StatusUnauthorized || len(asked) > 0 {
			t.Errorf("%s: %d %+v, asked about %v", wrong, status, got, asked)
		}
	}
	for _, method := range []string{"GET", "POST"} {
		if status, got := ask(t, method, at(good), `{"A":"1"}`); status != http.StatusOK || inside.Load() != 0 {
			t.Errorf("%s: %d %+v, %d inside", method, status, got, inside.Load())
		}
	}
	if !slices.Equal(asked, []api.Ref{object.Ref(), object.Ref()}) {
		t.Errorf("asked about %v", asked)
	}
	refusal = &api.Problem{Status: http.StatusTooManyRequests, Detail: "too often", Next: "wait"}
	before, audited := w.view.Revision(), len(audit.bounded)
	request, err := http.NewRequestWithContext(t.Context(), "POST", at(good), strings.NewReader(`{"A":"2"}`))
	if err != nil {
		t.Fatal(err)
	}
	response, text := w.do(request)
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "7" ||
		!strings.Contains(text, `"status":"error"`) || !strings.Contains(text, "too often") {
		t.Errorf("%s %v %s", response.Status, response.Header, text)
	}
	if w.view.Revision() != before || len(audit.bounded) != audited+1 {
		t.Errorf("changed something, or has no audit: %+v", audit.bounded)
	}
}
