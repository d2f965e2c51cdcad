package certs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
)

// answering is an HTTP transport whose answers come from the test.
type answering func(*http.Request) (int, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	status, err := a(r)
	if err != nil {
		return nil, err
	}
	body := io.NopCloser(strings.NewReader(""))
	return &http.Response{StatusCode: status, Body: body, Header: http.Header{}, Request: r}, nil
}

func asking(answer answering) *asked { return newAsked(&http.Client{Transport: answer}, time.Now) }

// TestAskingIsBounded: a hanging ask URL gets 5 s, and the same question isn't repeated at once.
func TestAskingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		questions := 0
		a := asking(func(r *http.Request) (int, error) {
			questions++
			<-r.Context().Done()
			return 0, r.Context().Err()
		})
		began := time.Now()
		if err := a.allowed(t.Context(), "http://ask.test/", "a.test"); err == nil || time.Since(began) != askTime {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if err := a.allowed(t.Context(), "http://ask.test/", "a.test"); err == nil || time.Since(began) != askTime || questions != 1 {
			t.Errorf("%v, asked %d times", err, questions)
		}
	})
}

// TestRefusalsAreRemembered: a refusal is remembered for a minute, for each name separately. A yes isn't remembered.
func TestRefusalsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		questions, status := map[string]int{}, http.StatusForbidden
		a := asking(func(r *http.Request) (int, error) {
			questions[r.URL.Query().Get("domain")]++
			return status, nil
		})
		for range 100 {
			for _, name := range []string{"a.test", "b.test"} {
				if err := a.allowed(t.Context(), "http://ask.test/", name); err == nil || !strings.Contains(err.Error(), "403 for "+name) {
					t.Fatal(err)
				}
			}
		}
		if questions["a.test"] != 1 || questions["b.test"] != 1 {
			t.Errorf("%v", questions)
		}
		status = http.StatusOK
		time.Sleep(refusalLife)
		for range 2 {
			if err := a.allowed(t.Context(), "http://ask.test/", "a.test"); err != nil {
				t.Errorf("after its time: %v", err)
			}
		}
		if questions["a.test"] != 3 {
			t.Errorf("%v", questions)
		}
	})
}

// TestAFloodOfNames: memory and concurrent questions are bounded, and a redirect doesn't count as a yes.
func TestAFloodOfNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := asking(func(*http.Request) (int, error) { return http.StatusFound, nil })
		for n := range maxRefusals + 10 {
			if err := a.allowed(t.Context(), "http://ask.test/", fmt.Sprint(n, ".test")); err == nil {
				t.Fatal("a redirect lets it through")
			}
		}
		if len(a.refusals) > maxRefusals {
			t.Errorf("%d names are remembered", len(a.refusals))
		}
		ctx, cancel := context.WithCancel(t.Context())
		hanging := asking(func(r *http.Request) (int, error) { <-r.Context().Done(); return 0, r.Context().Err() })
		for n := range maxAsking {
			go func() { _ = hanging.allowed(ctx, "http://ask.test/", fmt.Sprint(n, ".test")) }()
		}
		synctest.Wait()
		if err := hanging.allowed(ctx, "http://ask.test/", "more.test"); err == nil || !strings.Contains(err.Error(), "later") {
			t.Errorf("one more: %v", err)
		}
		cancel()
		synctest.Wait()
		if hanging.asking != 0 {
			t.Errorf("%d are still under way", hanging.asking)
		}
	})
}

// TestAskOnThisMachine: an ingress of an untrusted source can't use an ask URL on this machine.
func TestAskOnThisMachine(t *testing.T) {
	questions := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { questions++ }))
	defer server.Close()
	m := New(Options{Storage: &certmagic.FileStorage{Path: t.TempDir()}})
	defer m.Close()
	for _, confined := range []bool{true, false} {
		p := Policy{Host: "*.test", Provider: Internal, OnDemand: true, Ask: server.URL, Confined: confined}
		err := m.issuer(p.group()).config.OnDemand.DecisionFunc(t.Context(), "a.test")
		if (err != nil) != confined || (questions == 0) != confined {
			t.Errorf("confined %v: %v, asked %d times", confined, err, questions)
		}
	}
}
