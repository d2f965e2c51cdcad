package authority

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"tend.dev/tend/internal/platform/pki"
)

// errDamaged means that the stored roots hold no certificate.
var errDamaged = errors.New("the certificate of the cluster's authority, as this machine has stored it, is damaged: " +
	"join again (tend nodes add)")

// NewRequest creates a node's key, and a request for its certificate in DER.
func NewRequest() (*ecdsa.PrivateKey, []byte, error) {
	key, err := pki.NewKey()
	if err != nil {
		return nil, nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	return key, request, err
}

// NodeTLS returns the configuration with which a node dials its servers for a protocol.
func NodeTLS(root []byte, certificate func() (*tls.Certificate, error), protocol string) (*tls.Config, error) {
	return FollowingTLS(func() []byte { return root }, certificate, protocol)
}

// FollowingTLS does the same for an authority that may change: roots is called at each handshake.
func FollowingTLS(
	roots func() []byte, certificate func() (*tls.Certificate, error), protocol string,
) (*tls.Config, error) {
	if !x509.NewCertPool().AppendCertsFromPEM(roots()) {
		return nil, errDamaged
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: ServerName, NextProtos: []string{protocol},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks instead, against the current roots
		VerifyConnection: func(state tls.ConnectionState) error {
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(roots())
			return verifyServer(state.PeerCertificates[0], pool)
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate() },
	}, nil
}

func verifyServer(leaf *x509.Certificate, roots *x509.CertPool) error {
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: ServerName}); err != nil {
		return fmt.Errorf("the server's certificate: %w", err)
	}
	return nil
}

// FingerprintsOf returns the fingerprints of certificates in PEM, in order.
func FingerprintsOf(roots []byte) (out []string) {
	for {
		block, rest := pem.Decode(roots)
		if block == nil {
			return out
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, fingerprint(c))
		}
		roots = rest
	}
}

// IssuerOf returns the fingerprint of the root that issued a certificate; empty if none of them did.
func IssuerOf(leaf *x509.Certificate, roots []byte) string {
	for {
		block, rest := pem.Decode(roots)
		if block == nil {
			return ""
		}
		if root, err := x509.ParseCertificate(block.Bytes); err == nil && leaf.CheckSignatureFrom(root) == nil {
			return fingerprint(root)
		}
		roots = rest
	}
}

// ErrOtherCluster is returned by a handshake with a server that doesn't belong to the token's cluster.
var ErrOtherCluster = errors.New("the server is not of the token's cluster: is it the address of the right cluster?")

// JoinTLS returns the configuration for dialling a server before joining. A machine then knows only the fingerprint of
// the server's authority, from its token.
func JoinTLS(pinned string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: ServerName, NextProtos: []string{"h2"},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks instead, against the token
		VerifyConnection: func(state tls.ConnectionState) error {
			chain := state.PeerCertificates
			root := chain[len(chain)-1]
			if len(chain) < 2 || fingerprint(root) != pinned {
				return ErrOtherCluster
			}
			pool := x509.NewCertPool()
			pool.AddCert(root)
			return verifyServer(chain[0], pool)
		},
	}
}
