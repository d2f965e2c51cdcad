package authority

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/internal/platform/pki"
)

// Lifetimes. An agent requests a new certificate when a third of the old one's lifetime is left.
const (
	rootLife = 20 * 365 * 24 * time.Hour
	NodeLife = 30 * 24 * time.Hour
	// skew bounds how far the other side's clock may be behind.
	skew = 48 * time.Hour
)

// nodes is the organization in certificates of nodes. Certificates for servers don't have it.
const nodes = "tend:nodes"

// servers is the organization in the certificates with which servers request files from each other.
const servers = "tend:servers"

// ServerName is the DNS name in the certificates of all servers of a cluster. A node asks for it at whatever address it
// dials: the cluster's authority issues such certificates only to servers.
const ServerName = "tend"

// Server issues a server's certificate. Its chain includes the root, so that a joining machine can compare it with its
// token.
func (a *Authority) Server(life time.Duration) (tls.Certificate, error) {
	by := a.held()[0]
	der, key, err := a.issue(by, pkix.Name{CommonName: ServerName}, life, []string{ServerName}, x509.ExtKeyUsageServerAuth)
	return tls.Certificate{Certificate: [][]byte{der, by.Root.Raw}, PrivateKey: key}, err
}

// issue makes a key and its certificate in DER.
func (a *Authority) issue(
	by pki.Issuer, subject pkix.Name, life time.Duration, names []string, usage ...x509.ExtKeyUsage,
) ([]byte, *ecdsa.PrivateKey, error) {
	return by.Issue(&x509.Certificate{Subject: subject, DNSNames: names, ExtKeyUsage: usage}, lasting(life, a.now()))
}

func lasting(life time.Duration, now time.Time) pki.Validity {
	return pki.Validity{From: now, Life: life, Skew: skew}
}

// PeerName is the DNS name in the certificates with which a cluster's servers reach each other's stores.
const PeerName = "tend-peer"

// Peer issues such a certificate and its key, both in PEM. Use an authority that issues no other certificates: with
// this one the whole store can be written.
func (a *Authority) Peer(life time.Duration) (certificate, key []byte, err error) {
	der, private, err := a.issue(a.held()[0], pkix.Name{CommonName: PeerName}, life, []string{PeerName},
		x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, nil, err
	}
	key, err = pki.KeyPEM(private)
	return pki.CertificatePEM(der), key, err
}

// Client issues the certificate with which a server calls another server: as a node if of is set, otherwise as itself.
func (a *Authority) Client(of Machine, life time.Duration) (tls.Certificate, error) {
	subject := pkix.Name{CommonName: of.Node, SerialNumber: of.UID, Organization: []string{nodes}}
	if of == (Machine{}) {
		subject = pkix.Name{CommonName: ServerName, Organization: []string{servers}}
	}
	der, key, err := a.issue(a.held()[0], subject, life, nil, x509.ExtKeyUsageClientAuth)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// IsServer reports whether the connection's certificate is that of a server.
func IsServer(state *tls.ConnectionState) bool {
	if state == nil || len(state.VerifiedChains) == 0 {
		return false
	}
	organization := state.VerifiedChains[0][0].Subject.Organization
	return len(organization) == 1 && organization[0] == servers
}

// Machine is the owner of a node's certificate. UID distinguishes machines that joined one after the other under the
// same name.
type Machine struct{ Node, UID string }

// parseRequest parses a certificate request (PKCS #10 in DER) and checks that it is signed with its own key.
func parseRequest(request []byte) (*x509.CertificateRequest, error) {
	asked, err := x509.ParseCertificateRequest(request)
	if err != nil {
		return nil, fmt.Errorf("the certificate request can't be read: %w", err)
	}
	if err := asked.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the certificate request isn't signed with its key: %w", err)
	}
	return asked, nil
}

// KeyOf returns the SHA-256 of a request's public key, in hex.
func KeyOf(request []byte) (string, error) {
	asked, err := parseRequest(request)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(asked.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:]), nil
}

// Node issues a node's certificate, in PEM, for a request (PKCS #10 in DER). It takes only the public key from the
// request.
func (a *Authority) Node(of Machine, request []byte) ([]byte, error) {
	asked, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	der, err := a.held()[0].Sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: of.Node, SerialNumber: of.UID, Organization: []string{nodes}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, asked.PublicKey, lasting(NodeLife, a.now()))
	if err != nil {
		return nil, err
	}
	return pki.CertificatePEM(der), nil
}

// TLS returns the configuration of a server's listener for nodes. A joining machine has no certificate yet: MachineOf
// tells the two apart. The listener speaks protocols beside HTTP/2. Each connection is checked against the issuers of
// that moment. Sessions are not resumed: a resumed one would have been checked against earlier issuers.
func (a *Authority) TLS(server func() (*tls.Certificate, error), protocols ...string) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.VerifyClientCertIfGiven, Time: a.now, SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return server() },
		NextProtos:     append([]string{"h2"}, protocols...),
	}
	outer := config.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := config.Clone()
		now.ClientCAs = a.pool()
		return now, nil
	}
	return outer
}

var errNoCertificate = errors.New("the connection has no node certificate: join the cluster with tend agent --join")

// MachineOf returns the machine that owns the connection's certificate.
func MachineOf(state tls.ConnectionState) (Machine, error) {
	if len(state.VerifiedChains) == 0 {
		return Machine{}, errNoCertificate
	}
	return machineIn(state.VerifiedChains[0][0])
}

// machineIn returns the machine that owns a certificate.
func machineIn(leaf *x509.Certificate) (Machine, error) {
	subject := leaf.Subject
	if len(subject.Organization) != 1 || subject.Organization[0] != nodes || subject.CommonName == "" {
		return Machine{}, errors.New("the connection's certificate is not a node's")
	}
	return Machine{Node: subject.CommonName, UID: subject.SerialNumber}, nil
}
