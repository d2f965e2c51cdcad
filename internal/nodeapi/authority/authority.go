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

	"tend.dev/tend/internal/pki"
)

// Lifetimes. An agent requests another certificate when a third of the lifetime of its own is left.
const (
	rootLife = 20 * 365 * 24 * time.Hour
	NodeLife = 30 * 24 * time.Hour
	// skew is how far behind the clock of the other side may be.
	skew = 48 * time.Hour
)

// nodes is the organization in the certificates of nodes: certificates for servers don't have it.
const nodes = "tend:nodes"

// servers is the organization in the certificates with which servers ask each other for files.
const servers = "tend:servers"

// ServerName is the name in the certificates of all servers of a cluster. Nodes ask for it whatever address they dial:
// only servers have such a certificate of the cluster's authority.
const ServerName = "tend"

// Server issues the certificate of a server. Its chain includes the root, so that a joining machine can compare it with
// its token.
func (a *Authority) Server(life time.Duration) (tls.Certificate, error) {
	by := a.held()[0]
	der, key, err := a.issue(by, pkix.Name{CommonName: ServerName}, life, []string{ServerName}, x509.ExtKeyUsageServerAuth)
	return tls.Certificate{Certificate: [][]byte{der, by.Root.Raw}, PrivateKey: key}, err
}

// issue makes a key and its certificate, in DER.
func (a *Authority) issue(by pki.Issuer, subject pkix.Name, life time.Duration, names []string, usage ...x509.ExtKeyUsage) ([]byte, *ecdsa.PrivateKey, error) {
	return by.Issue(&x509.Certificate{Subject: subject, DNSNames: names, ExtKeyUsage: usage}, lasting(life, a.now()))
}

func lasting(life time.Duration, now time.Time) pki.Validity {
	return pki.Validity{From: now, Life: life, Skew: skew}
}

// PeerName is the name in the certificates with which the servers of a cluster reach each other's stores.
const PeerName = "tend-peer"

// Peer issues such a certificate, with its key, both in PEM. The authority should be one that issues no others: with
// such a certificate the whole store can be written.
func (a *Authority) Peer(life time.Duration) (certificate, key []byte, err error) {
	der, private, err := a.issue(a.held()[0], pkix.Name{CommonName: PeerName}, life, []string{PeerName}, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, nil, err
	}
	key, err = pki.KeyPEM(private)
	return pki.CertificatePEM(der), key, err
}

// Client issues the certificate with which a server asks another one, as a node of a machine or, without one, as the server
// itself.
func (a *Authority) Client(of Machine, life time.Duration) (tls.Certificate, error) {
	subject := pkix.Name{CommonName: of.Node, SerialNumber: of.UID, Organization: []string{nodes}}
	if of == (Machine{}) {
		subject = pkix.Name{CommonName: ServerName, Organization: []string{servers}}
	}
	der, key, err := a.issue(a.held()[0], subject, life, nil, x509.ExtKeyUsageClientAuth)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// IsServer reports whether a connection came with the certificate of a server.
func IsServer(state *tls.ConnectionState) bool {
	if state == nil || len(state.VerifiedChains) == 0 {
		return false
	}
	organization := state.VerifiedChains[0][0].Subject.Organization
	return len(organization) == 1 && organization[0] == servers
}

// Machine is who a node's certificate is of. UID tells machines apart that joined under one name, one after the other.
type Machine struct{ Node, UID string }

// parseRequest reads a request for a certificate (a PKCS #10 in DER) that is signed with its key.
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

// KeyOf returns SHA-256 of the public key of a request, in hex.
func KeyOf(request []byte) (string, error) {
	asked, err := parseRequest(request)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(asked.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:]), nil
}

// Node issues the certificate of a node for its request (a PKCS #10 in DER), in PEM. It uses only the key of the
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

// TLS returns the configuration of a server's listener for nodes. A joining machine has no certificate yet; MachineOf
// distinguishes the two. protocols are those that the listener speaks beside HTTP/2. Each connection is judged by the issuers of
// its moment: a resumed session would be judged by those of an earlier one.
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

var errNoCertificate = errors.New("the connection has no certificate of a node: tend agent --join")

// MachineOf returns the machine whose certificate a connection came with.
func MachineOf(state tls.ConnectionState) (Machine, error) {
	if len(state.VerifiedChains) == 0 {
		return Machine{}, errNoCertificate
	}
	return machineIn(state.VerifiedChains[0][0])
}

// machineIn returns the machine that a node's certificate is of.
func machineIn(leaf *x509.Certificate) (Machine, error) {
	subject := leaf.Subject
	if len(subject.Organization) != 1 || subject.Organization[0] != nodes || subject.CommonName == "" {
		return Machine{}, errors.New("the certificate of the connection is not a node's")
	}
	return Machine{Node: subject.CommonName, UID: subject.SerialNumber}, nil
}
