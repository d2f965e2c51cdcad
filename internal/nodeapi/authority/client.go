package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// NewRequest creates a node's key, and the request for its certificate in DER.
func NewRequest() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	return key, request, err
}

// NodeTLS returns the configuration that a node dials its servers with, to speak a protocol.
func NodeTLS(root []byte, certificate func() (*tls.Certificate, error), protocol string) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(root) {
		return nil, errors.New("the cluster's authority isn't a certificate in PEM")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: ServerName, NextProtos: []string{protocol},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate() },
	}, nil
}

// ErrOtherCluster is returned by a handshake with a server that isn't of the cluster that a token is of.
var ErrOtherCluster = errors.New("the server's authority is not the one of the token: is it the address of the right cluster?")

// JoinTLS returns the configuration for dialling a server of which a machine knows only the fingerprint of its
// authority, from a token.
func JoinTLS(pinned string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: ServerName, NextProtos: []string{"h2"},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks in its place, against the token
		VerifyConnection: func(state tls.ConnectionState) error {
			chain := state.PeerCertificates
			root := chain[len(chain)-1]
			if len(chain) < 2 || fingerprint(root) != pinned {
				return ErrOtherCluster
			}
			pool := x509.NewCertPool()
			pool.AddCert(root)
			if _, err := chain[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: ServerName}); err != nil {
				return fmt.Errorf("the server's certificate: %w", err)
			}
			return nil
		},
	}
}

// EncodeKey returns a node's key in PEM.
func EncodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), nil
}
