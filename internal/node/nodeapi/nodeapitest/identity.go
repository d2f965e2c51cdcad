package nodeapitest

import (
	"crypto/ecdsa"
	"crypto/tls"
	"errors"
	"net/http"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/platform/pki"
)

// NodeOf returns the node of a request, as a server does that removes no nodes.
func NodeOf(r *http.Request) (string, error) {
	if r.TLS == nil {
		return "", errors.New("the request came without TLS")
	}
	machine, err := authority.MachineOf(*r.TLS)
	return machine.Node, err
}

// Pair returns a node's certificate, in PEM, with its key.
func Pair(certificate []byte, key *ecdsa.PrivateKey) (tls.Certificate, error) {
	private, err := pki.KeyPEM(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, private)
}
