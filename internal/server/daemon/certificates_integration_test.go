//go:build integration

package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/ingress/acmetest"
)

// TestACertificateIsOrderedOnce: three nodes have a proxy, and one host wants a certificate of an authority. One of
// them orders it, another one answers the authority's challenge, all serve the same certificate, and a node that is
// started again does too, without another order.
func TestACertificateIsOrderedOnce(t *testing.T) {
	t.Parallel()
	httpPort, tlsPort := acmetest.Port(t), acmetest.Port(t)
	authority := acmetest.Start(t, httpPort, tlsPort)
	var orders sync.Map // the completed orders: the authority refuses one request in ten once, as real ones do
	directory := authority.Limited(t, func(path string) bool {
		if strings.HasPrefix(path, "/finalize-order/") {
			orders.Store(path, true)
		}
		return false
	}, 0, "", "")
	roots := authority.TrustFile(t)
	names := []string{"a", "b", "c"}
	address := func(i, port int) string { return fmt.Sprintf("127.0.0.%d:%d", 1+i, port) }
	s := newSeveral(t, names...)
	start := func(i int) {
		s.startWith(names[i], func(o *Options) {
			o.Ingress.HTTP, o.Ingress.HTTPS, o.Ingress.Directory, o.Ingress.Roots = address(i, httpPort),
				address(i, tlsPort), directory, roots
			o.PeerListen = loopback()
			if i > 0 {
				token, err := s.running["a"].client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer, Uses: 1000})
				if err != nil {
					t.Fatal(err)
				}
				o.Join, o.Token = token.Address, token.Token
			}
		})
	}
	// The authority asks one node alone, whichever ordered.
	if err := authority.Answer(t.Context(), "add-a",
		map[string]any{"host": "shop.test", "addresses": []string{"127.0.0.2"}}); err != nil {
		t.Fatal(err)
	}
	for i := range names {
		start(i)
	}
	a := s.running["a"]
	a.converged(web, a.apply(manifestOf(web, replicas(1))))
	a.apply(api.Object{Kind: api.KindIngress, Scope: "prod", Name: "shop",
		Spec: []byte(`{"host":"shop.test","service":"web","port":8080,"tls":{"email":"ops@example.org"}}`)})
	first := s.served(a, address(0, tlsPort), authority.Issued)
	for i := range names[1:] {
		if next := s.served(a, address(1+i, tlsPort), authority.Issued); !next.Equal(first) {
			t.Errorf("%s serves the certificate %v, a serves %v", names[1+i], next.SerialNumber, first.SerialNumber)
		}
	}
	if err := s.running["c"].stop(); err != nil {
		t.Fatal(err)
	}
	s.startWith("c", func(o *Options) {
		o.Ingress.HTTP, o.Ingress.HTTPS, o.Ingress.Directory, o.Ingress.Roots = address(2, httpPort),
			address(2, tlsPort), directory, roots
	})
	if again := s.served(a, address(2, tlsPort), authority.Issued); !again.Equal(first) {
		t.Errorf("after a restart c serves the certificate %v, before %v", again.SerialNumber, first.SerialNumber)
	}
	n := 0
	orders.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d orders, want one for all nodes", n)
	}
}

// served waits until a node serves shop.test with a certificate of the authority, and returns that.
func (s *several) served(r *running, address string, roots *x509.CertPool) (leaf *x509.Certificate) {
	s.t.Helper()
	var last error
	defer func() {
		if s.t.Failed() {
			list, _ := r.client.Objects(context.Background(), api.KindIngress, client.ObjectFilter{})
			for _, object := range list.Items {
				s.t.Logf("%s: %v: %s", address, last, object.Status)
			}
		}
	}()
	r.untilWithin(patience, address+" serves a certificate of the authority", func() bool {
		dialer := &net.Dialer{Timeout: 5 * time.Second}
		conn, err := tls.DialWithDialer(dialer, "tcp", address, &tls.Config{RootCAs: roots, ServerName: "shop.test"})
		if last = err; err != nil {
			return false
		}
		defer conn.Close()
		leaf = conn.ConnectionState().PeerCertificates[0]
		return true
	})
	return leaf
}
