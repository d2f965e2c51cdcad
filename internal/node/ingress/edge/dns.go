package edge

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/caddyserver/certmagic"
	"github.com/libdns/rfc2136"

	"tend.dev/tend/api/pattern"
)

// DynamicDNS returns a DNS provider that sends dynamic updates (RFC 2136) to a name server, signed with the key in a
// file of tsig-keygen's format.
func DynamicDNS(server, keyFile string) (certmagic.DNSProvider, error) {
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(server, "53")
	}
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the key of the name server: %w", err)
	}
	provider, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("the key in %s: %w: write it with tsig-keygen", keyFile, err)
	}
	provider.Server = server
	return provider, nil
}

var (
	keyComment   = pattern.Lazy(`(?m)^\s*(#|//).*$`)
	keyName      = pattern.Lazy(`\bkey\s+"?([^"\s{]+)"?\s*\{`)
	keyAlgorithm = pattern.Lazy(`\balgorithm\s+"?([A-Za-z0-9-]+)"?\s*;`)
	keySecret    = pattern.Lazy(`\bsecret\s+"?([A-Za-z0-9+/=]+)"?\s*;`)
)

// parseKey reads key "NAME" { algorithm ALGORITHM; secret "BASE64"; };. A secret may hold //, so comments are those
// that begin a line.
func parseKey(text []byte) (*rfc2136.Provider, error) {
	text = keyComment().ReplaceAll(text, nil)
	name, algorithm := keyName().FindSubmatch(text), keyAlgorithm().FindSubmatch(text)
	secret := keySecret().FindSubmatch(text)
	if name == nil || algorithm == nil || secret == nil {
		return nil, errors.New(`it is not as key "NAME" { algorithm hmac-sha256; secret "…"; };`)
	}
	if _, err := base64.StdEncoding.DecodeString(string(secret[1])); err != nil {
		return nil, fmt.Errorf("its secret is not base64: %w", err)
	}
	return &rfc2136.Provider{KeyName: string(name[1]), KeyAlg: string(algorithm[1]), Key: string(secret[1])}, nil
}
