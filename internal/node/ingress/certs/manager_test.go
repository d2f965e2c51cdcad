package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/internal/platform/pki"
)

// harness is a manager with a TLS listener.
type harness struct {
	*Manager
	*testing.T
	address string
	roots   *x509.CertPool
	changed chan struct{}
}

func newHarness(t *testing.T, opts Options) *harness {
	t.Helper()
	l := &harness{T: t, changed: make(chan struct{}, 1), roots: x509.NewCertPool()}
	if opts.Storage == nil {
		opts.Storage = &certmagic.FileStorage{Path: t.TempDir()}
	}
	opts.Sign = Authority{opts.Storage}.signDER
	opts.Changed = func() {
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
	l.Manager = New(opts)
	t.Cleanup(l.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", l.TLSConfig())
	if err != nil {
		t.Fatal(err)
	}
	hello := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", r.TLS.ServerName) }
	server := &http.Server{Handler: http.HandlerFunc(hello)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	l.address = listener.Addr().String()
	root, err := Authority{opts.Storage}.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.roots.AppendCertsFromPEM(root)
	return l
}

// get requests a host over TLS and checks its certificate against the harness's roots.
func (l *harness) get(host string) (string, error) {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: l.roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, l.address)
		},
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("https://" + host)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// until waits until a host's state satisfies holds.
func (l *harness) until(host string, holds func(State) bool) State {
	l.Helper()
	limit := time.After(30 * time.Second)
	for {
		if state, known := l.State(host); known && holds(state) {
			return state
		}
		select {
		case <-l.changed:
		case <-limit:
			state, _ := l.State(host)
			l.Fatalf("%s: %+v", host, state)
		}
	}
}

func there(s State) bool       { return !s.NotAfter.IsZero() }
func failed(s State) bool      { return s.Error != "" }
func in(s State) time.Duration { return time.Until(s.NotAfter) }

func TestTheClustersOwnAuthority(t *testing.T) {
	l := newHarness(t, Options{})
	l.Update([]Policy{{Host: "shop.test", Provider: Internal}, {Host: "*.apps.test", Provider: Internal}})
	if life := in(l.until("shop.test", there)); life < leafLife-2*skew || life > leafLife {
		t.Errorf("it lives %s", life)
	}
	l.until("*.apps.test", there)
	for _, host := range []string{"shop.test", "a.apps.test", "b.apps.test"} {
		if got, err := l.get(host); err != nil || got != "hello "+host {
			t.Errorf("%s: %q %v", host, got, err)
		}
	}
	for _, host := range []string{"other.test", "a.b.apps.test"} {
		if got, err := l.get(host); err == nil {
			t.Errorf("%s: %q without a policy", host, got)
		}
	}
	l.Update(nil)
	if _, err := l.get("shop.test"); err == nil {
		t.Error("it is served without a policy")
	}
}

// TestAnUpdateThatChangesNothing: such an update reports no change. A caller that updates at each change would never
// stop.
func TestAnUpdateThatChangesNothing(t *testing.T) {
	changes := 0
	m := New(Options{Storage: &certmagic.FileStorage{Path: t.TempDir()}, Changed: func() { changes++ }})
	t.Cleanup(m.Close)
	policies := []Policy{{Host: "*.apps.test", OnDemand: true, Ask: "http://ask.test/"}}
	for n, want := range []int{0, 1, 1, 2} {
		m.Update([][]Policy{nil, policies, policies, nil}[n])
		if changes != want {
			t.Errorf("after update %d it reported %d changes, want %d", n, changes, want)
		}
	}
}

// TestOneRoot: two servers with one storage share an authority, and a restart keeps certificates.
func TestOneRoot(t *testing.T) {
	storage := &certmagic.FileStorage{Path: t.TempDir()}
	a := newHarness(t, Options{Storage: storage})
	a.Update([]Policy{{Host: "shop.test", Provider: Internal}})
	first := a.until("shop.test", there)
	b := newHarness(t, Options{Storage: storage})
	b.Update([]Policy{{Host: "shop.test", Provider: Internal}})
	if second := b.until("shop.test", there); !second.NotAfter.Equal(first.NotAfter) {
		t.Errorf("a certificate of its own, until %s instead of %s", second.NotAfter, first.NotAfter)
	}
	b.roots = a.roots
	if _, err := b.get("shop.test"); err != nil {
		t.Error(err)
	}
}

func TestCertificatesOfOnesOwn(t *testing.T) {
	l := newHarness(t, Options{})
	certificate, key := selfSigned(t, "shop.test")
	l.roots.AppendCertsFromPEM(certificate)
	l.Update([]Policy{{Host: "shop.test", Certificate: certificate, Key: key}, {Host: "other.test", Certificate: certificate, Key: key}})
	l.until("shop.test", there)
	if got, err := l.get("shop.test"); err != nil || got != "hello shop.test" {
		t.Errorf("%q %v", got, err)
	}
	if state := l.until("other.test", failed); !strings.Contains(state.Error, "is for shop.test") {
		t.Errorf("%s", state.Error)
	}
	renewed, renewedKey := selfSigned(t, "shop.test")
	l.roots = x509.NewCertPool()
	l.roots.AppendCertsFromPEM(renewed)
	l.Update([]Policy{{Host: "shop.test", Certificate: renewed, Key: renewedKey}})
	if _, err := l.get("shop.test"); err != nil {
		t.Errorf("the renewed one is not served: %v", err)
	}
	l.Update([]Policy{{Host: "shop.test", Certificate: []byte("nonsense"), Key: key}})
	l.until("shop.test", failed)
}

func TestOnDemandAsksFirst(t *testing.T) {
	asked := make(chan string, 10)
	ask := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query().Get("domain")
		if r.URL.Query().Get("domain") != "good.apps.test" || r.URL.Query().Get("t") != "1" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer ask.Close()
	l := newHarness(t, Options{})
	l.Update([]Policy{{Host: "*.apps.test", Provider: Internal, OnDemand: true, Ask: ask.URL + "/ask?t=1"}})
	if _, err := l.get("bad.apps.test"); err == nil {
		t.Error("a name that was refused is served")
	}
	if got, err := l.get("good.apps.test"); err != nil || got != "hello good.apps.test" {
		t.Errorf("%q %v", got, err)
	}
	if first, second := <-asked, <-asked; first != "bad.apps.test" || second != "good.apps.test" {
		t.Errorf("asked for %s, then %s", first, second)
	}
}

func TestWildcardsNeedDNS(t *testing.T) {
	l := newHarness(t, Options{Directory: "https://127.0.0.1:1/"})
	l.Update([]Policy{{Host: "*.apps.test"}})
	if state := l.until("*.apps.test", failed); !strings.Contains(state.Error, "DNS-01") {
		t.Errorf("%s", state.Error)
	}
}

// TestAnAuthorityThatIsAway: the host's state reports an unreachable authority, and other hosts are still served.
func TestAnAuthorityThatIsAway(t *testing.T) {
	l := newHarness(t, Options{Directory: "https://127.0.0.1:1/dir"})
	l.Update([]Policy{{Host: "acme.test"}, {Host: "shop.test", Provider: Internal}})
	if state := l.until("acme.test", failed); !strings.Contains(state.Error, "127.0.0.1:1") {
		t.Errorf("%s", state.Error)
	}
	l.until("shop.test", there)
	if _, err := l.get("shop.test"); err != nil {
		t.Error(err)
	}
}

func selfSigned(t *testing.T, host string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err = pki.KeyPEM(private)
	if err != nil {
		t.Fatal(err)
	}
	return pki.CertificatePEM(signed), key
}

// signDER signs a request in DER, as the servers do.
func (a Authority) signDER(ctx context.Context, der []byte) ([]byte, error) {
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, err
	}
	return a.Sign(ctx, request)
}
