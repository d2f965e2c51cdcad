package ingress

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// ask runs one request through the proxy without a network.
func ask(p *Proxy, ctx context.Context) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "http://shop.org/a?b=c", nil))
	return w
}

func TestRequestsWaitForAPod(t *testing.T) {
	f := newFront(t)
	f.serve()
	answer := make(chan string)
	go func() {
		_, text := f.do("POST", "/", nil)
		answer <- text
	}()
	for f.held.Load() == 0 { // until it waits
		f.serve()
	}
	f.serve(podOf(t, "p", says("late")))
	if got := <-answer; got != "late" {
		t.Errorf("%q", got)
	}
}

func TestWaitingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{})
		for mode, want := range map[Mode]int{ModeServe: 503, ModePaused: 503} {
			p.Update([]Route{{Ingress: shop, Host: "shop.org", Mode: mode}})
			began := time.Now()
			if got := ask(p, t.Context()); got.Code != want || time.Since(began) != DefaultHold {
				t.Errorf("%q: %d after %s", mode, got.Code, time.Since(began))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if ask(p, ctx); time.Since(began) != time.Second {
			t.Errorf("it waited %s for a client that left", time.Since(began))
		}
		p.held.Store(maxHeld)
		began = time.Now()
		if got := ask(p, t.Context()); got.Code != 503 || time.Since(began) != 0 {
			t.Errorf("beyond the bound: %d after %s", got.Code, time.Since(began))
		}
	})
}

func TestAPausedRouteIsResumed(t *testing.T) {
	f := newFront(t)
	p := podOf(t, "p", says("hello"))
	paused := []Route{{Ingress: shop, Host: "shop.org", Mode: ModePaused, Pods: []Pod{p}}}
	f.Update(paused)
	answer := make(chan string)
	go func() {
		_, text := f.do("GET", "/", nil)
		answer <- text
	}()
	for f.held.Load() == 0 {
		f.Update(paused)
	}
	f.serve(p)
	if got := <-answer; got != "hello" {
		t.Errorf("%q", got)
	}
}

func TestMaintenanceAnswersAtOnce(t *testing.T) {
	p := New(Options{})
	p.Update([]Route{{Ingress: shop, Host: "shop.org", Mode: ModeMaintenance, Message: "back at noon"}})
	got := ask(p, t.Context())
	if text, _ := io.ReadAll(got.Body); got.Code != 503 || string(text) != "503 back at noon\n" ||
		got.Header().Get("Retry-After") == "" {
		t.Errorf("%d %q", got.Code, text)
	}
}

// TestPlainRequestsAreSentToTLS: even before any pod is ready, and nothing of the request is lost.
func TestPlainRequestsAreSentToTLS(t *testing.T) {
	for port, want := range map[int]string{0: "https://shop.org/a?b=c", 8443: "https://shop.org:8443/a?b=c"} {
		p := New(Options{SecurePort: port})
		p.Update([]Route{{Ingress: shop, Host: "shop.org", Secure: true}})
		got := ask(p, t.Context())
		if got.Code != http.StatusPermanentRedirect || got.Header().Get("Location") != want {
			t.Errorf("%d to %s, want %s", got.Code, got.Header().Get("Location"), want)
		}
	}
}
