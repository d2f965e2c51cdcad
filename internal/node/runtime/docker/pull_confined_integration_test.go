//go:build integration

package docker_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/docker"
)

// from returns a runtime whose confined pulls go elsewhere.
func (s *shop) from(outside docker.Outside) runtime.Runtime {
	s.Helper()
	rt, err := docker.New(s.Context(), docker.Options{Cluster: "tendtest-shop", Node: "n", Outside: outside,
		Auth: func(context.Context, string) (docker.Auth, bool, error) { return s.auth, s.auth != docker.Auth{}, nil }})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = rt.Close() })
	return rt
}

// anywhere limits nothing.
var anywhere = docker.Outside{
	Allow: func(context.Context, string) error { return nil }, Transport: http.DefaultTransport,
}

func wantRejected(t *testing.T, err error, reason string) {
	t.Helper()
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != reason || rejected.Next == "" {
		t.Errorf("the pull ended with %v, want %s and a next step", err, reason)
	}
}

// TestAConfinedPullAsksNoRegistryHere: a registry on the engine's own machine counts its visitors.
func TestAConfinedPullAsksNoRegistryHere(t *testing.T) {
	s := newShop(t)
	var visitors atomic.Int32
	s.put(func(w http.ResponseWriter, r *http.Request) { visitors.Add(1); s.shelves.ServeHTTP(w, r) })
	_, err := s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference, Confined: true}, nil)
	wantRejected(t, err, "RegistryRefused")
	if n := visitors.Load(); n != 0 {
		t.Errorf("the registry was asked %d times", n)
	}
	s.auth = docker.Auth{Username: "ann", Password: "right"} // an admin declared the registry
	image, err := s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference, Confined: true}, nil)
	s.wantPulled(image, err)
}

// TestAConfinedPullNeedsTheAddress: a name that the node can't look up may be found by the engine, on this machine.
func TestAConfinedPullNeedsTheAddress(t *testing.T) {
	s := newShop(t)
	var visitors atomic.Int32
	s.put(func(w http.ResponseWriter, r *http.Request) { visitors.Add(1); s.shelves.ServeHTTP(w, r) })
	nameless := docker.Outside{Allow: func(context.Context, string) error { return errors.New("no answer from DNS") }}
	_, err := s.from(nameless).Pull(t.Context(), runtime.PullSpec{Reference: s.reference, Confined: true}, nil)
	wantTransient(t, err, "RegistryUnreachable")
	if n := visitors.Load(); n != 0 {
		t.Errorf("the registry was asked %d times", n)
	}
}

// TestAConfinedPullFollowsNoChallenge: a registry sends those who pull to a program of the machine, and wants to see
// what that answers. An ordinary pull goes there, as the engine does it.
func TestAConfinedPullFollowsNoChallenge(t *testing.T) {
	for name, confined := range map[string]bool{"ordinary": false, "confined": true} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			var visitors atomic.Int32
			var leaked atomic.Bool
			inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				visitors.Add(1)
				_, _ = w.Write([]byte(`{"token":"SESSION"}`))
			}))
			t.Cleanup(inside.Close)
			s.put(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.Header.Get("Authorization"), "SESSION") {
					leaked.Store(true)
				}
				w.Header().Set("WWW-Authenticate", `Bearer realm="`+inside.URL+`/admin",service="x"`)
				http.Error(w, "{}", http.StatusUnauthorized)
			})
			_, err := s.from(anywhere).Pull(t.Context(), runtime.PullSpec{Reference: s.reference, Confined: confined}, nil)
			if confined {
				wantTransient(t, err, "RegistryFailed")
			} else {
				wantRejected(t, err, "Unauthorized")
			}
			if asked := visitors.Load() > 0; asked == confined || leaked.Load() == confined {
				t.Errorf("the program inside was asked: %t; its answer went out: %t", asked, leaked.Load())
			}
		})
	}
}

// TestAConfinedPullHasItsToken: the usual registry demands a token, and gives one without a login.
func TestAConfinedPullHasItsToken(t *testing.T) {
	s := newShop(t)
	s.put(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			if scope := r.URL.Query().Get("scope"); scope != "repository:tendtest/goods:pull" {
				t.Errorf("a token for %q was asked", scope)
			}
			_, _ = w.Write([]byte(`{"access_token":"ticket"}`))
		case r.Header.Get("Authorization") != "Bearer ticket":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="x"`)
			http.Error(w, "{}", http.StatusUnauthorized)
		default:
			s.shelves.ServeHTTP(w, r)
		}
	})
	image, err := s.from(anywhere).Pull(t.Context(), runtime.PullSpec{Reference: s.reference, Confined: true}, nil)
	s.wantPulled(image, err)
}

// TestAConfinedPullWithoutAToken: where the token comes from has an outage, or the token's life ends amid the layers.
// Neither is a fault of the image.
func TestAConfinedPullWithoutAToken(t *testing.T) {
	for name, test := range map[string]struct {
		token, blob int
		reason      string
	}{
		"an outage":        {http.StatusServiceUnavailable, http.StatusOK, "RegistryFailed"},
		"its end":          {http.StatusOK, http.StatusUnauthorized, "PullInterrupted"},
		"refused as wrong": {http.StatusForbidden, http.StatusOK, "RegistryFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.put(func(w http.ResponseWriter, r *http.Request) {
				challenge := `Bearer realm="http://` + r.Host + `/token",service="x"`
				switch {
				case r.URL.Path == "/token":
					w.WriteHeader(test.token)
					_, _ = w.Write([]byte(`{"token":"ticket"}`))
				case r.Header.Get("Authorization") != "Bearer ticket":
					w.Header().Set("WWW-Authenticate", challenge)
					http.Error(w, "{}", http.StatusUnauthorized)
				case isBlob(r) && test.blob != http.StatusOK:
					w.Header().Set("WWW-Authenticate", challenge)
					http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, test.blob)
				default:
					s.shelves.ServeHTTP(w, r)
				}
			})
			_, err := s.from(anywhere).Pull(t.Context(), runtime.PullSpec{Reference: s.reference, Confined: true}, nil)
			wantTransient(t, err, test.reason)
		})
	}
}

// TestAConfinedPullQuotesNoAnswer: what a registry redirects the engine to may be a page of the machine.
func TestAConfinedPullQuotesNoAnswer(t *testing.T) {
	s := newShop(t)
	for _, status := range []int{http.StatusOK, http.StatusForbidden, http.StatusNotFound, http.StatusBadGateway,
		http.StatusServiceUnavailable} {
		s.put(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				return
			}
			http.Error(w, "admin panel SECRET", status)
		})
		_, err := s.from(anywhere).Pull(t.Context(), runtime.PullSpec{Reference: s.reference, Confined: true}, nil)
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("status %d: %v", status, err)
		}
	}
}
