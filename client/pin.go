package client

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"net/url"
	"strings"

	"tend.dev/tend/api"
)

// serverName is the name in the certificates that a cluster's own authority issues to its servers.
const serverName = "tend"

// errOtherAuthority is returned by a handshake with a server that is not of the cluster of an access token.
var errOtherAuthority = errors.New("its certificate is not of the authority that the token names")

// pinOf returns the fingerprint of the authority that an access token names, or "".
func pinOf(token string) string {
	if parts := strings.Split(token, "."); len(parts) == 4 && parts[0] == api.AccessTokenPrefix {
		return parts[3]
	}
	return ""
}

// tlsFor returns a TLS configuration for an https server: it trusts only the authority that the token names, or without
// one the system's authorities.
func tlsFor(token string) *tls.Config {
	pinned := pinOf(token)
	if pinned == "" {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: serverName,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks in its place, against the token
		VerifyConnection: func(state tls.ConnectionState) error {
			chain := state.PeerCertificates
			root := chain[len(chain)-1]
			if sum := sha256.Sum256(root.Raw); len(chain) < 2 || hex.EncodeToString(sum[:]) != pinned {
				return errOtherAuthority
			}
			pool := x509.NewCertPool()
			pool.AddCert(root)
			_, err := chain[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: serverName})
			return err
		},
	}
}

// isLoopback reports whether a server's URL names this machine.
func isLoopback(server *url.URL) bool {
	name := server.Hostname()
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
