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
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/ingress/certs"
)

// TestFromPlainToSecure: a request for a host with TLS is redirected to the secure listener, which has a certificate
// and a pod.
func TestFromPlainToSecure(t *testing.T) {
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Forwarded-Proto"), " ", r.Host)
	}))
	defer pod.Close()
	changed, storage := make(chan struct{}, 100), &certmagic.FileStorage{Path: t.TempDir()}
	e := New(Options{
		HTTP: "127.0.0.1:0", HTTPS: "127.0.0.1:0", Storage: storage,
		Sign: func(ctx context.Context, der []byte) ([]byte, error) {
			request, err := x509.ParseCertificateRequest(der)
			if err != nil {
				return nil, err
			}
			return certs.Authority{Storage: storage}.Sign(ctx, request)
		},
		Changed: func() { changed <- struct{}{} },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	defer func() { cancel(); <-done }()
	if plain, _ := e.States(); plain.Wanted || plain.Open {
		t.Errorf("a listener without a route: %+v", plain)
	}
	pods := []ingress.Pod{{Name: "p", Address: pod.Listener.Addr().String()}}
	e.Update(
		[]ingress.Route{{Host: "shop.test", Secure: true, Pods: pods}, {Host: "plain.test", Pods: pods}},
		[]certs.Policy{{Host: "shop.test", Provider: certs.Internal}},
	)
	for limit := time.After(20 * time.Second); !e.serves("shop.test"); {
		select {
		case <-changed:
		case <-limit:
			t.Fatal("no listener, or no certificate")
		}
	}
	client := e.client(t, storage)
	for from, want := range map[string]string{"http://shop.test/": "https shop.test",
		"http://plain.test/": "http plain.test"} {
		response, err := client.Get(from)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if string(text) != want {
			t.Errorf("%s: %q, want %q", from, text, want)
		}
	}
}

func (e *Edge) serves(host string) bool {
	plain, secure := e.States()
	state, known := e.Certificate(host)
	return plain.Open && secure.Open && known && !state.NotAfter.IsZero()
}

// client returns a client that always connects to the listeners, ignoring the URL's host and port. It trusts the
// cluster's own authority.
func (e *Edge) client(t *testing.T, storage certmagic.Storage) *http.Client {
	t.Helper()
	root, err := certs.Authority{Storage: storage}.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(root)
	plain, secure := e.States()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			at := secure.Address
			if _, port, _ := net.SplitHostPort(address); port == "80" {
				at = plain.Address
			}
			return new(net.Dialer).DialContext(ctx, network, at)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
