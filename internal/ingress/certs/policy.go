package certs

import (
	"errors"
	"fmt"
	"strings"
)

// The providers of certificates.
const (
	ACME     = "letsencrypt" // or whichever directory Options.Directory names
	Internal = "internal"    // the cluster's own authority, which clients must be configured to trust
)

// Policy says how the certificate of a host is obtained.
type Policy struct {
	// Host is a lower-case DNS name, or *.example.org.
	Host string
	// Provider is ACME (the default) or Internal.
	Provider string
	// Email is the address the authority may write to.
	Email string
	// OnDemand obtains a certificate at the first handshake, for names that Ask answers 200 for.
	OnDemand bool
	Ask      string
	// Confined: Ask must not be on this machine or its link.
	Confined bool
	// Certificate and Key are PEM, if the user provides the certificate.
	Certificate, Key []byte
	// Fault is why the policy can't be followed, if that is known already.
	Fault string
}

// group are the policies that share an issuer.
type group struct {
	provider, email, ask string
	confined             bool
}

func (p Policy) group() group {
	g := group{provider: p.Provider, email: p.Email}
	if g.provider == "" {
		g.provider = ACME
	}
	if p.OnDemand {
		g.ask, g.confined = p.Ask, p.Confined
	}
	return g
}

func (p Policy) own() bool { return len(p.Certificate) > 0 }

// covers reports whether a policy's host is a name, or the wildcard above it.
func (p Policy) covers(name string) bool {
	if p.Host == name || strings.HasPrefix(name, "*.") {
		return p.Host == name
	}
	_, parent, found := strings.Cut(name, ".")
	return found && p.Host == "*."+parent
}

// refused returns why no certificate can be obtained for the policy.
func (p Policy) refused(dns bool) error {
	if p.Fault != "" {
		return errors.New(p.Fault)
	}
	wild := strings.HasPrefix(p.Host, "*.")
	if wild && !p.OnDemand && !p.own() && p.group().provider == ACME && !dns {
		return fmt.Errorf("%s is a wildcard, which authorities give by DNS-01 alone, and no name server is set (--acme-dns-server): use on_demand "+
			"with ask, provider = \"internal\", or a certificate of your own", p.Host)
	}
	return nil
}
