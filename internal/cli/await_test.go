package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestAWaitWithoutAPlaceGoesOn: what was applied is stored, so a server with too many waits is asked again.
func TestAWaitWithoutAPlaceGoesOn(t *testing.T) {
	var asks atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asks.Add(1) == 1 {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusTooManyRequests)
			_ = json.NewEncoder(w).Encode(api.Problem{Status: http.StatusTooManyRequests, Title: "x"})
			return
		}
		_ = json.NewEncoder(w).Encode(api.AwaitResult{Revision: 11,
			Outcomes: []api.Outcome{{State: api.OutcomeConverged}}})
	}))
	defer server.Close()
	a := &app{server: server.URL, streams: streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard}}
	c, err := a.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := a.await(t.Context(), c, []wait{asked}, time.Minute); err != nil || asks.Load() != 2 {
		t.Errorf("%v after %d questions", err, asks.Load())
	}
}
