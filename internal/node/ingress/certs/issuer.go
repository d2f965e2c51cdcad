package certs

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// issuer returns the issuer of a group. It creates each issuer once.
func (m *Manager) issuer(g group) *issuer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if made := m.issuers[g]; made != nil {
		return made
	}
	made := &issuer{}
	config := certmagic.Config{Storage: m.opts.Storage, Logger: zap.NewNop(), OnEvent: m.event}
	if g.ask != "" {
		asked := m.asked
		if g.confined {
			asked = m.confined
		}
		config.OnDemand = &certmagic.OnDemandConfig{DecisionFunc: func(ctx context.Context, name string) error {
			return asked.allowed(ctx, g.ask, name)
		}}
	}
	made.config = certmagic.New(m.cache, config)
	if g.provider == Internal {
		made.config.Issuers = []certmagic.Issuer{signer{m.opts.Sign}}
	} else {
		made.acme = certmagic.NewACMEIssuer(made.config, m.acmeOf(g))
		made.config.Issuers = []certmagic.Issuer{made.acme}
	}
	m.issuers[g] = made
	return made
}

func (m *Manager) acmeOf(g group) certmagic.ACMEIssuer {
	out := certmagic.ACMEIssuer{
		CA: m.opts.Directory, TestCA: m.opts.Directory, Email: g.email, Agreed: true, TrustedRoots: m.opts.Roots,
		Resolver: m.opts.Resolver, Logger: zap.NewNop(),
	}
	if m.opts.DNS != nil {
		solver := &certmagic.DNS01Solver{DNSManager: certmagic.DNSManager{DNSProvider: m.opts.DNS, Logger: zap.NewNop()}}
		if m.opts.Resolver != "" {
			solver.Resolvers = []string{m.opts.Resolver}
		}
		out.DNS01Solver = solver
	}
	return out
}

func (m *Manager) configOf(names []string) (*certmagic.Config, error) {
	for _, name := range names {
		if p, found := m.policyOf(name); found && !p.own() {
			return m.issuer(p.group()).config, nil
		}
	}
	return nil, fmt.Errorf("no ingress needs a certificate for %v", names)
}

// event handles the events of certmagic.
func (m *Manager) event(ctx context.Context, name string, data map[string]any) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // the policy was removed, or the client disconnected
	}
	switch name {
	case "cert_failed":
		host, _ := data["identifier"].(string)
		err, _ := data["error"].(error)
		m.note(host, State{Error: fmt.Sprint(err), At: time.Now()})
	case "cert_obtained":
		if again, _ := data["renewal"].(bool); again { // a first certificate is cached next
			host, _ := data["identifier"].(string)
			path, _ := data["certificate_path"].(string)
			m.renewed(ctx, host, path)
		}
	case "cached_managed_cert": // obtained, or loaded from the storage
		names, _ := data["sans"].([]string)
		for _, host := range names {
			m.cached(host)
		}
	}
	return nil
}

// renewed records the state of a renewed certificate. The cache loads it from the storage.
func (m *Manager) renewed(ctx context.Context, host, path string) {
	text, err := m.opts.Storage.Load(ctx, path)
	if err != nil {
		return // the cache loads the same file next, and retries that
	}
	if first, _ := pem.Decode(text); first != nil {
		if leaf, err := x509.ParseCertificate(first.Bytes); err == nil {
			m.note(host, State{NotAfter: leaf.NotAfter, At: time.Now()})
		}
	}
}
