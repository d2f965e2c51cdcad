package certs

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// acmeTLS is the protocol that an ACME server speaks in a TLS-ALPN-01 challenge.
const acmeTLS = "acme-tls/1"

// TLSConfig returns a configuration that chooses the certificate of each connection by the name that the client asks
// for.
func (m *Manager) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1", acmeTLS}, GetCertificate: m.certificate,
	}
}

// certificate returns the certificate for a connection. A name that isn't served gets none: a failed handshake reveals
// less than a wrong certificate.
func (m *Manager) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")
	if slices.Contains(hello.SupportedProtos, acmeTLS) && len(hello.SupportedProtos) == 1 {
		return m.challenge(hello)
	}
	p, found := m.policyOf(name)
	switch {
	case !found:
		return nil, fmt.Errorf("no ingress serves %q with TLS", name)
	case p.own():
		m.mu.Lock()
		defer m.mu.Unlock()
		if certificate := m.owned[p.Host]; certificate != nil {
			return certificate, nil
		}
		return nil, fmt.Errorf("the certificate provided for %s can't be used", p.Host)
	}
	return m.issuer(p.group()).config.GetCertificateWithContext(hello.Context(), hello)
}

// challenge answers an ACME server that checks a name over TLS. Only the issuer that started the challenge knows the
// answer.
func (m *Manager) challenge(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	var last error = fmt.Errorf("no challenge is under way for %q", hello.ServerName)
	for _, issuer := range m.all() {
		certificate, err := issuer.config.GetCertificateWithContext(hello.Context(), hello)
		if err == nil {
			return certificate, nil
		}
		last = err
	}
	return nil, last
}

// Challenges returns a handler that answers ACME servers that check a name over HTTP. It passes all other requests to
// next.
func (m *Manager) Challenges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/acme-challenge/") {
			for _, issuer := range m.all() {
				if issuer.acme != nil && issuer.acme.HandleHTTPChallenge(w, r) {
					return
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (m *Manager) all() []*issuer {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*issuer, 0, len(m.issuers))
	for _, made := range m.issuers {
		out = append(out, made)
	}
	return out
}
