package authority

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

// Own holds a node's identity, and the roots it checks other nodes against.
type Own struct {
	// Certificate returns the node's certificate, Roots the cluster's authorities in PEM. Both are called at each
	// handshake.
	Certificate func() (*tls.Certificate, error)
	Roots       func() []byte
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Between returns the configuration for a protocol between two nodes, for both sides. Each side shows its node
// certificate, and judge decides whether the other machine is acceptable. Sessions are not resumed: a resumed one would
// have been checked against earlier roots.
func (o Own) Between(protocol string, judge func(Machine) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{protocol}, SessionTicketsDisabled: true,
		ClientAuth:           tls.RequireAnyClientCert,
		InsecureSkipVerify:   true, //nolint:gosec // VerifyConnection checks instead, also the certificate of the dialling side
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return o.Certificate() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return o.Certificate() },
		VerifyConnection: func(state tls.ConnectionState) error {
			machine, err := o.machine(state)
			if err != nil {
				return err
			}
			if state.NegotiatedProtocol != protocol {
				return fmt.Errorf("node %s doesn't speak %s: run the same version of Tend on both nodes", machine.Node,
					protocol)
			}
			return judge(machine)
		},
	}
}

// MachineOn returns the machine at the other end of a connection made with Between, after the handshake.
func MachineOn(state tls.ConnectionState) (Machine, error) {
	if len(state.PeerCertificates) == 0 {
		return Machine{}, errNoCertificate
	}
	return machineIn(state.PeerCertificates[0])
}

// machine checks the other side's certificate. A node's certificate is for clients, and the accepting node shows the
// same one.
func (o Own) machine(state tls.ConnectionState) (Machine, error) {
	if len(state.PeerCertificates) == 0 {
		return Machine{}, errNoCertificate
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(o.Roots()) {
		return Machine{}, errDamaged
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
