package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestRepeat: an answer that says nothing is asked for again under the same key, until one says something.
func TestRepeat(t *testing.T) {
	unknown := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusGatewayTimeout)
		_ = json.NewEncoder(w).Encode(api.Problem{Title: api.OutcomeUnknown,
			Detail: "the store did not answer", Next: "check"})
	}
	cut := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	refuse := func(w http.ResponseWriter) { w.WriteHeader(http.StatusConflict) }
	away := func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	answer := func(w http.ResponseWriter) { _ = json.NewEncoder(w).Encode(api.RunResult{Run: api.Run{ID: "m-1"}}) }
	for name, c := range map[string]struct {
		reason   string
		patience time.Duration
		answers  []func(http.ResponseWriter)
		want     string
		status   int
	}{
		"answered": {"nothing to repeat", time.Minute, []func(http.ResponseWriter){answer}, "m-1", 0},
		"unknown": {"the second answer says it", time.Minute,
			[]func(http.ResponseWriter){unknown, answer}, "m-1", 0},
		"cut": {"so does it after a cut connection", time.Minute,
			[]func(http.ResponseWriter){cut, answer}, "m-1", 0},
		"away between": {"a server that starts says nothing", time.Minute,
			[]func(http.ResponseWriter){unknown, away, cut, answer}, "m-1", 0},
		"refused": {"a refusal at first wrote nothing", time.Minute, []func(http.ResponseWriter){refuse}, "",
			http.StatusConflict},
		"refused at last": {"a refusal later is the answer", time.Minute, []func(http.ResponseWriter){unknown, refuse},
			"", http.StatusConflict},
		"patience comes to 0": {"the unknown outcome is reported", time.Nanosecond, []func(http.ResponseWriter){unknown}, "",
			http.StatusGatewayTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var keys []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				next := c.answers[min(len(keys), len(c.answers))-1]
				mu.Unlock()
				next(w)
			}))
			defer server.Close()
			client, err := New(Options{Server: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			result, err := Repeat(t.Context(), c.patience, func(ctx context.Context) (api.RunResult, error) {
				return client.Run(ctx, Target{Kind: api.KindJob, Scope: "prod", Name: "mail"})
			})
			if result.Run.ID != c.want || StatusOf(err) != c.status || (err == nil) != (c.want != "") {
				t.Errorf("%s: run %q, %v; want %q, status %d", c.reason, result.Run.ID, err, c.want, c.status)
			}
			if len(keys) != len(c.answers) || keys[0] == "" || len(slices.Compact(keys)) != 1 {
				t.Errorf("%s: %d calls with keys %q; want %d with one key", c.reason, len(keys), keys, len(c.answers))
			}
		})
	}
}
