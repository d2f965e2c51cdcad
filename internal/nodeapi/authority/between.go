package authority

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Own is what a node shows others, and judges them by.
type Own struct {
	// Certificate returns that of the node, Roots the authorities of the cluster in PEM: both as they are at a handshake.
	Certificate func() (*tls.Certificate, error)
	Roots       func() []byte
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Between returns the configuration with which two nodes speak a protocol: each shows its certificate as a node, and judge says whether
// the other one may be who it is. It is for both sides. Sessions aren't resumed: a resumed one would be judged by the roots of an earlier
// handshake.
func (o Own) Between(protocol string, judge func(Machine) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{protocol}, SessionTicketsDisabled: true,
		ClientAuth:           tls.RequireAnyClientCert,
		InsecureSkipVerify:   true, //nolint:gosec // VerifyConnection checks in its place, also the certificate of the side that dials
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return o.Certificate() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return o.Certificate() },
		VerifyConnection: func(state tls.ConnectionState) error {
			if state.NegotiatedProtocol != protocol {
				return fmt.Errorf("the other side doesn't speak %s", protocol)
			}
			machine, err := o.machine(state)
			if err != nil {
				return err
			}
			return judge(machine)
		},
	}
}

// MachineOn returns whose a connection of Between is, once its handshake is over.
func MachineOn(state tls.ConnectionState) (Machine, error) {
	if len(state.PeerCertificates) == 0 {
		return Machine{}, errNoCertificate
	}
	return machineIn(state.PeerCertificates[0])
}

// machine checks the other side's certificate. Those of nodes are for clients, and a node that is asked shows the same one.
func (o Own) machine(state tls.ConnectionState) (Machine, error) {
	if len(state.PeerCertificates) == 0 {
		return Machine{}, errNoCertificate
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(o.Roots()) {
		return Machine{}, errors.New("the cluster's authority isn't a certificate in PEM")
	}
	options := x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if o.Now != nil {
		options.CurrentTime = o.Now()
	}
	if _, err := state.PeerCertificates[0].Verify(options); err != nil {
		return Machine{}, fmt.Errorf("the node's certificate: %w", err)
	}
	return machineIn(state.PeerCertificates[0])
}
