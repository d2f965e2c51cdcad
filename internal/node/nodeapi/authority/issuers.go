package authority

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/internal/platform/pki"
)

// Authority issues the certificates of a cluster's servers and nodes. It is safe for concurrent use.
type Authority struct {
	now func() time.Time
	mu  sync.RWMutex
	// issuers are the accepted issuers; the first one signs. There are two while the authority is being rotated.
	issuers []pki.Issuer
}

// Found creates an authority with a name. It fails only if the random source does.
func Found(name string, now func() time.Time) (*Authority, error) {
	made, err := pki.Found(name, lasting(rootLife, now()))
	return &Authority{now: now, issuers: []pki.Issuer{made}}, err
}

// Open parses the output of Encode.
func Open(text []byte, now func() time.Time) (*Authority, error) {
	issuers, err := parse(text)
	return &Authority{now: now, issuers: issuers}, err
}

func parse(text []byte) (issuers []pki.Issuer, err error) {
	for len(issuers) == 0 || len(bytes.TrimSpace(text)) > 0 {
		next, rest, err := pki.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("the authority of nodes: %w", err)
		}
		issuers, text = append(issuers, next), rest
	}
	return issuers, nil
}

// Replace replaces the issuers by those in text, the output of another authority's Encode.
func (a *Authority) Replace(text []byte) error {
	issuers, err := parse(text)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.issuers = issuers
	return nil
}

func (a *Authority) held() []pki.Issuer {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.issuers
}

// Each returns one authority per issuer.
func (a *Authority) Each() (out []*Authority) {
	for _, i := range a.held() {
		out = append(out, &Authority{now: a.now, issuers: []pki.Issuer{i}})
	}
	return out
}

// Encode returns the certificates and their keys in PEM, the signing issuer's first. The result is secret.
func (a *Authority) Encode() (text []byte, err error) {
	for _, i := range a.held() {
		one, err := i.Encode()
		if err != nil {
			return nil, err
		}
		text = append(text, one...)
	}
	return text, nil
}

// PEM returns the certificates, the signing issuer's first.
func (a *Authority) PEM() (text []byte) {
	for _, i := range a.held() {
		text = append(text, pki.CertificatePEM(i.Root.Raw)...)
	}
	return text
}

// Fingerprint returns the value that join tokens pin: the SHA-256 of the signing issuer's certificate, in hex.
func (a *Authority) Fingerprint() string { return fingerprint(a.held()[0].Root) }

// Fingerprints returns the fingerprints of all accepted issuers.
func (a *Authority) Fingerprints() (out []string) {
	for _, i := range a.held() {
		out = append(out, fingerprint(i.Root))
	}
	return out
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

func (a *Authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, i := range a.held() {
		pool.AddCert(i.Root)
	}
	return pool
}

// Takes reports whether the issuer of the connection's certificate is still accepted: a connection may be older than
// the current issuers. Without a certificate it returns true.
func (a *Authority) Takes(state *tls.ConnectionState) bool {
	if state == nil || len(state.VerifiedChains) == 0 {
		return true
	}
	return slices.ContainsFunc(state.VerifiedChains, func(chain []*x509.Certificate) bool {
		return slices.Contains(a.Fingerprints(), fingerprint(chain[len(chain)-1]))
	})
}
