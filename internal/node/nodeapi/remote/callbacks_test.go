package remote

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
)

// callable connects a node whose server answers containers by a handler, and returns the address that containers call.
func callable(t *testing.T, answer http.HandlerFunc) (*link, string) {
	t.Helper()
	l := connect(t, nodeapitest.NewWorld(t), nodeapitest.Here, func(o *HandlerOptions) {
		if answer != nil {
			o.Callbacks = func(Admit) http.Handler { return answer }
		}
	})
	handler, err := l.client.Callbacks()
	if err != nil {
		t.Fatal(err)
	}
	machine := httptest.NewServer(handler)
	t.Cleanup(machine.Close)
	return l, machine.URL
}

// TestCallbacks: a call arrives at the server with all that it has, and its answer at the container.
func TestCallbacks(t *testing.T) {
	_, address := callable(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Set("Tend-Answer", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s?%s %d bytes %v", r.Method, r.URL.EscapedPath(), r.URL.RawQuery, len(body), err)
	})
	for _, test := range []struct{ method, target, body, want string }{
		{"POST", "/v1/apply?dry=1&a=b%20c", strings.Repeat("x", 1<<20), "POST /v1/apply?dry=1&a=b%20c 1048576 bytes <nil>"},
		{"GET", "/t0ken/a%2Fb/c", "", "GET /t0ken/a%2Fb/c? 0 bytes <nil>"},
		{"DELETE", "/", "", "DELETE /? 0 bytes <nil>"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, address+test.target,
			strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer t0ken")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if string(got) != test.want || err != nil || answer.StatusCode != http.StatusTeapot ||
			answer.Header.Get("Tend-Answer") != "Bearer t0ken" {
			t.Errorf("%s %q %v, want %q", answer.Status, got, err, test.want)
		}
	}
}

// TestCallbacksStream: an answer without a length comes as it is written.
func TestCallbacksStream(t *testing.T) {
	proceed := make(chan struct{})
	_, address := callable(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-proceed
		_, _ = io.WriteString(w, "last")
	})
	answer, err := http.Get(address + "/v1/follow")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	first := make([]byte, 5)
	_, err = io.ReadFull(answer.Body, first)
	close(proceed)
	rest, restErr := io.ReadAll(answer.Body)
	if string(first) != "first" || err != nil || string(rest) != "last" || restErr != nil {
		t.Errorf("%q %v, %q %v", first, err, rest, restErr)
	}
}

// TestCallbacksNeedACertificate of a node, whatever token their path has.
func TestCallbacksNeedACertificate(t *testing.T) {
	var called atomic.Int64
	l, _ := callable(t, func(http.ResponseWriter, *http.Request) { called.Add(1) })
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Post(l.client.server+Prefix+"callbacks/v1/apply", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized || called.Load() != 0 {
		t.Errorf("%s, %d calls", answer.Status, called.Load())
	}
}

// TestCallbacksThatCannotPass: a server without callbacks says so, and one that is away is distinguished from it.
func TestCallbacksThatCannotPass(t *testing.T) {
	_, without := callable(t, nil)
	away := New(Options{Server: "https://127.0.0.1:1", HTTP: &http.Client{Transport: &http.Transport{}}})
	handler, err := away.Callbacks()
	if err != nil {
		t.Fatal(err)
	}
	machine := httptest.NewServer(handler)
	defer machine.Close()
	for address, want := range map[string]int{without: http.StatusNotFound, machine.URL: http.StatusBadGateway} {
		answer, err := http.Get(address + "/v1/apply")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s, want %d", answer.Status, want)
		}
	}
}
