package certs

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestAnAuthorityThatIsLeft: work with an authority ends once the host gets its certificate elsewhere, or is removed.
func TestAnAuthorityThatIsLeft(t *testing.T) {
	certificate, key := selfSigned(t, "shop.test")
	for name, next := range map[string][]Policy{
		"for a certificate of the user": {{Host: "shop.test", Certificate: certificate, Key: key}},
		"for the cluster's authority":   {{Host: "shop.test", Provider: Internal}},
		"for nothing":                   nil,
	} {
		t.Run(name, func(t *testing.T) {
			asked, left := make(chan struct{}, 9), make(chan struct{}, 9)
			directory := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-r.Context().Done()
				left <- struct{}{}
			}))
			defer directory.Close()
			roots := x509.NewCertPool()
			roots.AddCert(directory.Certificate())
			l := newHarness(t, Options{Directory: directory.URL, Roots: roots})
			l.Update([]Policy{{Host: "shop.test"}})
			<-asked
			l.Update(next)
			<-left
			if len(next) > 0 {
				if state := l.until("shop.test", there); state.Error != "" {
					t.Errorf("reported for the one that serves: %s", state.Error)
				}
			}
		})
	}
}

// TestOneOfTwoPoliciesOfAHostGoes: if one of a host's two policies is removed, the other's certificate stays in use.
func TestOneOfTwoPoliciesOfAHostGoes(t *testing.T) {
	l := newHarness(t, Options{})
	one, other := Policy{Host: "shop.test", Provider: Internal}, Policy{Host: "shop.test", Provider: Internal, Email: "ops@shop.test"}
	l.Update([]Policy{one, other})
	l.until("shop.test", there)
	l.Update([]Policy{one})
	l.until("shop.test", there)
	if got, err := l.get("shop.test"); err != nil || got != "hello shop.test" {
		t.Errorf("%q %v", got, err)
	}
}

// TestAHostBelowAWildcard: a wildcard's certificate isn't reported for a host that needs its own.
func TestAHostBelowAWildcard(t *testing.T) {
	l := newHarness(t, Options{Directory: "https://127.0.0.1:1/dir"})
	wild := Policy{Host: "*.apps.test", Provider: Internal}
	l.Update([]Policy{wild})
	l.until("*.apps.test", there)
	l.Update([]Policy{wild, {Host: "shop.apps.test"}})
	if state := l.until("shop.apps.test", failed); there(state) {
		t.Errorf("its certificate ends %s", state.NotAfter)
	}
}

// TestARenewal: after a renewal the state has the new certificate's end, and no earlier error.
func TestARenewal(t *testing.T) {
	l := newHarness(t, Options{})
	p := Policy{Host: "shop.test", Provider: Internal}
	l.Update([]Policy{p})
	l.until("shop.test", there)
	l.note("shop.test", State{NotAfter: time.Now().Add(time.Hour)})
	l.note("shop.test", State{Error: "too many requests"})
	if err := l.issuer(p.group()).config.RenewCertSync(t.Context(), "shop.test", true); err != nil {
		t.Fatal(err)
	}
	if state, _ := l.State("shop.test"); state.Error != "" || in(state) < leafLife-2*skew {
		t.Errorf("%+v", state)
	}
}
