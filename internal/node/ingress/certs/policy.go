package certs

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// The providers of certificates.
const (
	ACME     = "letsencrypt" // or whichever directory Options.Directory names
	Internal = "internal"    // the cluster's own authority, which clients must be configured to trust
)

// Policy is the source of a host's certificate.
type Policy struct {
	// Host is a lower-case DNS name, or *.example.org.
	Host string
	// Provider is ACME (the default) or Internal.
	Provider string
	// Email is the contact address for the authority.
	Email string
	// OnDemand obtains a certificate at the first handshake for a name, if Ask answers 200 for it.
	OnDemand bool
	Ask      string
	// Confined is set if Ask must not be on this machine or its link.
	Confined bool
	// Certificate and Key are PEM, set if the user provides the certificate.
	Certificate, Key []byte
	// Fault is the reason why the policy can't be applied, if it is already known.
	Fault string
}

// group identifies the policies that share an issuer.
type group struct {
	provider, email, ask string
	confined             bool
}

func (p Policy) group() group {
	g := group{provider: p.Provider, email: p.Email}
	g.provider = cmp.Or(g.provider, ACME)
	if p.OnDemand {
		g.ask, g.confined = p.Ask, p.Confined
	}
	return g
}

func (p Policy) own() bool { return len(p.Certificate) > 0 }

// covers reports whether a policy's host is name, or the wildcard above it.
func (p Policy) covers(name string) bool {
	if p.Host == name || strings.HasPrefix(name, "*.") {
		return p.Host == name
	}
	_, parent, found := strings.Cut(name, ".")
	return found && p.Host == "*."+parent
}

// refused returns the reason for which no certificate can be obtained, or nil.
func (p Policy) refused(dns bool) error {
	if p.Fault != "" {
		return errors.New(p.Fault)
	}
	wild := strings.HasPrefix(p.Host, "*.")
	if wild && !p.OnDemand && !p.own() && p.group().provider == ACME && !dns {
		return fmt.Errorf("%s is a wildcard, which needs DNS-01: set --acme-dns-server, or use on_demand with ask, "+
			"provider = \"internal\", or a certificate of your own", p.Host)
	}
	return nil
}
