package webhook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/core/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func caller(t *testing.T) *Caller {
	c := New()
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

func request(address string) webhook.Request {
	return webhook.Request{Method: "POST", URL: address, Body: []byte(`{"a":1}`),
		Header: []webhook.Field{{Name: "X-A", Value: "a"}, {Name: "x-a", Value: "b"},
			{Name: "User-Agent", Value: "tend-webhook/1"}}}
}

func TestCall(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != "POST" || string(body) != `{"a":1}` || r.Header.Get("X-A") != "b" ||
			r.UserAgent() != "tend-webhook/1" || r.URL.Path != "/hook" {
			t.Errorf("received %s %s %s %v", r.Method, r.URL, body, r.Header)
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(make([]byte, 1<<20)) // more than the caller reads
	})
	if answer := caller(t).Call(t.Context(), request(address+"/hook")); answer.Status != 202 || answer.Err != nil {
		t.Errorf("got %+v", answer)
	}
}

// TestRedirects: the same request to the same host goes on; another host, and one that would lose the body, is an
// answer.
func TestRedirects(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("another host was called") })
	arrived := ""
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/there":
			body, _ := io.ReadAll(r.Body)
			arrived = string(body)
		case "/get":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusPermanentRedirect)
		case "/other":
			http.Redirect(w, r, other, http.StatusTemporaryRedirect)
		}
	})
	for path, want := range map[string]int{"/same": 200, "/get": 302, "/other": 307, "/round": 308} {
		if answer := caller(t).Call(t.Context(), request(address+path)); answer.Status != want {
			t.Errorf("%s: %+v, want %d", path, answer, want)
		}
	}
	if arrived != `{"a":1}` {
		t.Errorf("%q arrived after the redirect", arrived)
	}
}

// TestNoAnswer: the error doesn't contain the address, which may hold a secret.
func TestNoAnswer(t *testing.T) {
	release := make(chan struct{})
	slow := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	gone := httptest.NewServer(nil)
	gone.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for name, address := range map[string]string{"slow": slow, "gone": gone.URL,
		"nobody": "http://secret@127.0.0.1:1"} {
		answer := caller(t).Call(ctx, request(address+"/secret?token=secret"))
		if answer.Err == nil || answer.Status != 0 || answer.Final || strings.Contains(answer.Err.Error(), "secret") {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	if answer := caller(t).Call(t.Context(), request("http://[::1/secret")); !answer.Final ||
		strings.Contains(answer.Err.Error(), "secret") {
		t.Errorf("a malformed address: %+v", answer)
	}
}

// TestConfined: the receiver on this machine is not called, and there is no use in another try.
func TestConfined(t *testing.T) {
	reached := 0
	address := serve(t, func(http.ResponseWriter, *http.Request) { reached++ })
	call := request(address)
	for _, confined := range []bool{true, false} {
		call.Confined = confined
		answer := caller(t).Call(t.Context(), call)
		if refused := answer.Err != nil && answer.Final; refused != confined || (reached == 0) != confined {
			t.Errorf("confined %v: %+v, reached %d times", confined, answer, reached)
		}
	}
}
