//go:build integration

package edge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/ingress/acmetest"
	"tend.dev/tend/internal/node/ingress/certs"
)

// site is an edge that serves the test's hosts with certificates of an authority.
type site struct {
	*Edge
	*testing.T
	changed chan struct{}
	pods    []ingress.Pod
	tlsPort int
}

func newSite(
	t *testing.T, p *acmetest.Server, directory string, httpPort, tlsPort int, storage certmagic.Storage,
) *site {
	t.Helper()
	return newSiteWith(t, p, Options{
		HTTP: fmt.Sprintf("127.0.0.1:%d", httpPort), HTTPS: fmt.Sprintf("127.0.0.1:%d", tlsPort), Storage: storage,
		Directory: directory,
	}, tlsPort)
}

func newSiteWith(t *testing.T, p *acmetest.Server, opts Options, tlsPort int) *site {
	t.Helper()
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprint(w, "hello ", r.Host)
	}))
	t.Cleanup(pod.Close)
	s := &site{T: t, changed: make(chan struct{}, 1000),
		pods: []ingress.Pod{{Name: "p", Address: pod.Listener.Addr().String()}}, tlsPort: tlsPort}
	opts.Roots, opts.Changed = p.Trust, func() { s.changed <- struct{}{} }
	s.Edge = New(opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Edge.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

func (s *site) host(names ...string) {
	var routes []ingress.Route
	var policies []certs.Policy
	for _, name := range names {
		routes = append(routes, ingress.Route{Host: name, Secure: true, Pods: s.pods})
		policies = append(policies, certs.Policy{Host: name, Email: "ops@example.org"})
	}
	s.Update(routes, policies)
}

func (s *site) until(host string, holds func(certs.State) bool) certs.State {
	s.Helper()
	limit := time.After(60 * time.Second)
	for {
		if state, known := s.Certificate(host); known && holds(state) {
			return state
		}
		select {
		case <-s.changed:
		case <-limit:
			state, _ := s.Certificate(host)
			s.Fatalf("in vain: %s: %+v", host, state)
		}
	}
}

func (s *site) get(roots *x509.CertPool, host string) string {
	s.Helper()
	for limit := time.After(20 * time.Second); ; { // a stored certificate may be there before the listener is open
		if _, secure := s.States(); secure.Open {
			break
		}
		select {
		case <-s.changed:
		case <-limit:
			s.Fatal("the listener does not open")
		}
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", s.tlsPort))
		},
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("https://" + host)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

func there(state certs.State) bool  { return !state.NotAfter.IsZero() }
func failed(state certs.State) bool { return state.Error != "" }

// TestCertificatesOfAnAuthority: obtained over ACME from a real server, kept over a restart, and refused if the server
// refuses.
func TestCertificatesOfAnAuthority(t *testing.T) {
	httpPort, tlsPort := acmetest.Port(t), acmetest.Port(t)
	p := acmetest.Start(t, httpPort, tlsPort)
	storage := &certmagic.FileStorage{Path: t.TempDir()}
	var away atomic.Bool
	var asked atomic.Int32
	directory := p.Limited(t, func(string) bool { asked.Add(1); return away.Load() }, http.StatusInternalServerError,
		"serverInternal", "away")

	t.Run("got", func(t *testing.T) {
		s := newSite(t, p, directory, httpPort, tlsPort, storage)
		s.host("shop.test", "www.shop.test", "blocked.test")
		for _, host := range []string{"shop.test", "www.shop.test"} {
			s.until(host, there)
			if got := s.get(p.Issued, host); got != "hello "+host {
				t.Errorf("%s: %q", host, got)
			}
		}
		if state := s.until("blocked.test", failed); !strings.Contains(state.Error, "blocked.test") {
			t.Errorf("a name the authority refuses: %s", state.Error)
		}
	})

	t.Run("kept", func(t *testing.T) { // by another process: the authority isn't asked again
		away.Store(true)
		asked.Store(0)
		s := newSite(t, p, directory, httpPort, tlsPort, storage)
		s.host("shop.test")
		s.until("shop.test", there)
		if got := s.get(p.Issued, "shop.test"); got != "hello shop.test" || asked.Load() > 0 {
			t.Errorf("%q, the authority was asked %d times", got, asked.Load())
		}
	})
}

// TestAnAuthorityThatLimits: the state has the authority's message, hosts with certificates are still served, and once
// the limit is lifted, another start obtains the certificate.
func TestAnAuthorityThatLimits(t *testing.T) {
	httpPort, tlsPort := acmetest.Port(t), acmetest.Port(t)
	p := acmetest.Start(t, httpPort, tlsPort)
	for name, test := range map[string]struct {
		path, kind, detail string
		status             int
	}{
		"rate limit": {"/order-plz", "rateLimited", "too many certificates already issued",
			http.StatusTooManyRequests},
		"expired authorisation": {"/authZ/", "malformed", "Expired authorization", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			var lifted atomic.Bool
			directory := p.Limited(t, func(path string) bool {
				return !lifted.Load() && strings.HasPrefix(path, test.path)
			}, test.status, test.kind, test.detail)
			storage := &certmagic.FileStorage{Path: t.TempDir()}
			t.Run("limited", func(t *testing.T) {
				s := newSite(t, p, directory, httpPort, tlsPort, storage)
				s.host("limited.test")
				if state := s.until("limited.test", failed); !strings.Contains(state.Error, test.detail) {
					t.Errorf("%s", state.Error)
				}
			})
			lifted.Store(true)
			t.Run("lifted", func(t *testing.T) {
				s := newSite(t, p, directory, httpPort, tlsPort, storage)
				s.host("limited.test")
				s.until("limited.test", there)
				if got := s.get(p.Issued, "limited.test"); got != "hello limited.test" {
					t.Errorf("%q", got)
				}
			})
		})
	}
}
