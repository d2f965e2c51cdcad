package authority

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Authority issues the certificates of a cluster's servers and nodes. It is safe for concurrent use.
type Authority struct {
	now func() time.Time
	mu  sync.RWMutex
	// issuers are those whose certificates are taken: two while the authority is rotated. The first one issues.
	issuers []issuer
}

type issuer struct {
	root *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Found creates a new authority of a name. It returns errors of the random source alone.
func Found(name string, now func() time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := template(pkix.Name{CommonName: name}, now(), rootLife)
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	root, err := x509.ParseCertificate(der)
	return &Authority{now: now, issuers: []issuer{{root, key}}}, err
}

// Open parses what Encode returned.
func Open(text []byte, now func() time.Time) (*Authority, error) {
	issuers, err := parse(text)
	return &Authority{now: now, issuers: issuers}, err
}

func parse(text []byte) (issuers []issuer, err error) {
	for len(issuers) == 0 || len(bytes.TrimSpace(text)) > 0 {
		certificate, rest := pem.Decode(text)
		key, rest := pem.Decode(rest)
		if certificate == nil || key == nil {
			return nil, errors.New("the authority of nodes isn't a certificate and a key in PEM")
		}
		next := issuer{}
		if next.root, err = x509.ParseCertificate(certificate.Bytes); err != nil {
			return nil, fmt.Errorf("the authority of nodes: %w", err)
		}
		if next.key, err = x509.ParseECPrivateKey(key.Bytes); err != nil {
			return nil, fmt.Errorf("the authority of nodes: %w", err)
		}
		issuers, text = append(issuers, next), rest
	}
	return issuers, nil
}

// Replace has the authority issue, and take, what one does that Encode made this text of.
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

func (a *Authority) held() []issuer {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.issuers
}

// Each returns an authority of its own for each issuer.
func (a *Authority) Each() (out []*Authority) {
	for _, i := range a.held() {
		out = append(out, &Authority{now: a.now, issuers: []issuer{i}})
	}
	return out
}

// Encode returns the certificates and their keys, in PEM: that of the issuer first. It is a secret.
func (a *Authority) Encode() (text []byte, err error) {
	for _, i := range a.held() {
		key, err := x509.MarshalECPrivateKey(i.key)
		if err != nil {
			return nil, err
		}
		text = append(append(text, encode(i.root.Raw)...), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})...)
	}
	return text, nil
}

// PEM returns the certificates, that of the issuer first.
func (a *Authority) PEM() (text []byte) {
	for _, i := range a.held() {
		text = append(text, encode(i.root.Raw)...)
	}
	return text
}

// Fingerprint returns what join tokens pin: SHA-256 of the issuer's certificate, in hex.
func (a *Authority) Fingerprint() string { return fingerprint(a.held()[0].root) }

// Fingerprints returns those of all issuers whose certificates are taken.
func (a *Authority) Fingerprints() (out []string) {
	for _, i := range a.held() {
		out = append(out, fingerprint(i.root))
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
		pool.AddCert(i.root)
	}
	return pool
}

// Takes reports whether the certificate that a connection came with, if it did, is of an issuer whose certificates are taken now: a
// connection may be older than the issuers.
func (a *Authority) Takes(state *tls.ConnectionState) bool {
	if state == nil || len(state.VerifiedChains) == 0 {
		return true
	}
	return slices.ContainsFunc(state.VerifiedChains, func(chain []*x509.Certificate) bool {
		return slices.Contains(a.Fingerprints(), fingerprint(chain[len(chain)-1]))
	})
}
