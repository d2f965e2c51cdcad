package certs

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"tend.dev/tend/internal/platform/confine"
	"tend.dev/tend/internal/platform/recovery"
)

// Options configure a Manager. Storage is required.
type Options struct {
	Storage certmagic.Storage
	// Sign makes the cluster's own authority sign a request (PKCS #10 in DER), and returns PEM. Default: no such
	// authority.
	Sign func(ctx context.Context, request []byte) ([]byte, error)
	// Directory is the URL of the ACME directory. Default: that of Let's Encrypt.
	Directory string
	// Roots are the authorities trusted for the directory's own certificate. Default: the system's.
	Roots *x509.CertPool
	// DNS solves DNS-01 challenges, which wildcards need. Default: none.
	DNS certmagic.DNSProvider
	// Resolver is a DNS server (host:port) for the checks of DNS-01. Default: the system's.
	Resolver string
	// Changed is called after a certificate was obtained or removed, or an attempt failed. It must not block.
	Changed func()
	// Client asks the ask URL whether a name may get a certificate on demand, with a timeout of 5 s. Default: a client
	// that follows no redirects.
	Client *http.Client
}

// Manager finds certificates. It is safe for concurrent use.
type Manager struct {
	opts Options
	// asked asks for policies that aren't confined, confined for those that are.
	asked, confined *asked

	cache  *certmagic.Cache
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	policies []Policy
	issuers  map[group]*issuer
	owned    map[string]*tls.Certificate // by host
	states   map[string]State            // by host
	efforts  map[string]effort           // by host
}

// effort is the running work on a host's certificate. It ends when the host's policies change.
type effort struct {
	ctx  context.Context
	stop context.CancelFunc
}

// issuer obtains the certificates of one group of policies.
type issuer struct {
	config *certmagic.Config
	acme   *certmagic.ACMEIssuer // nil for the cluster's own authority
}

// State is the state of a host's certificate.
type State struct {
	// NotAfter is the certificate's expiry; zero without a certificate.
	NotAfter time.Time
	// Error is the error of the last attempt, empty if it succeeded. At is the time of that attempt.
	Error string
	At    time.Time
}

// New returns a Manager without policies.
func New(opts Options) *Manager {
	opts.Directory = cmp.Or(opts.Directory, certmagic.LetsEncryptProductionCA)
	if opts.Client == nil {
		opts.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	if opts.Changed == nil {
		opts.Changed = func() {}
	}
	m := &Manager{
		opts: opts, issuers: map[group]*issuer{}, owned: map[string]*tls.Certificate{}, states: map[string]State{},
		efforts: map[string]effort{},
	}
	m.asked = newAsked(opts.Client, time.Now)
	outside := *opts.Client
	outside.Transport = confine.Transport(http.DefaultTransport.(*http.Transport))
	m.confined = newAsked(&outside, time.Now)
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(c certmagic.Certificate) (*certmagic.Config, error) { return m.configOf(c.Names) },
		Logger:           zap.NewNop(), // Manager.event reports instead
	})
	return m
}

// Close stops renewals.
func (m *Manager) Close() {
	m.cancel()
	m.cache.Stop()
}

// Update sets the policies of all hosts, and starts to obtain missing certificates. It doesn't wait for them.
func (m *Manager) Update(policies []Policy) {
	m.mu.Lock()
	fresh, gone := m.adopt(policies)
	m.mu.Unlock()
	m.cache.RemoveManaged(gone)
	for _, p := range fresh {
		m.manage(p)
	}
	if len(fresh)+len(gone) > 0 {
		m.opts.Changed() // only on a change: a caller that updates at each change would never stop
	}
}

// adopt stores the policies. It returns the new and changed ones, and the certificates that no policy needs any more.
// It stops the running work for a host whose policies changed: otherwise it would continue for days with a removed
// authority, and report that authority's refusals.
func (m *Manager) adopt(policies []Policy) (fresh []Policy, gone []certmagic.SubjectIssuer) {
	changed := map[string]bool{}
	for _, old := range m.policies {
		if !slices.ContainsFunc(policies, func(p Policy) bool { return same(old, p) }) {
			gone = append(gone, certmagic.SubjectIssuer{Subject: old.Host})
			changed[old.Host] = true
			m.end(old.Host)
		}
	}
	states, owned := map[string]State{}, map[string]*tls.Certificate{}
	for _, p := range policies {
		known := !changed[p.Host] && slices.ContainsFunc(m.policies, func(old Policy) bool { return same(old, p) })
		if state, had := m.states[p.Host]; had && known {
			states[p.Host] = state
		}
		if certificate := m.owned[p.Host]; certificate != nil && known {
			owned[p.Host] = certificate
		}
		if !known {
			fresh = append(fresh, p)
		}
	}
	m.policies, m.states, m.owned = slices.Clone(policies), states, owned
	return fresh, gone
}

// begin returns the context for work on a host's certificate.
func (m *Manager) begin(host string) context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	under, known := m.efforts[host]
	if !known {
		under.ctx, under.stop = context.WithCancel(m.ctx)
		m.efforts[host] = under
	}
	return under.ctx
}

// end stops the work on a host's certificate. The caller holds mu.
func (m *Manager) end(host string) {
	if under, known := m.efforts[host]; known {
		under.stop()
		delete(m.efforts, host)
	}
}

func same(a, b Policy) bool {
	return a.Host == b.Host && a.Fault == b.Fault && a.group() == b.group() && a.OnDemand == b.OnDemand &&
		string(a.Certificate) == string(b.Certificate) && string(a.Key) == string(b.Key)
}

// manage starts to serve a policy.
func (m *Manager) manage(p Policy) {
	if p.own() {
		m.own(p)
		return
	}
	if err := p.refused(m.opts.DNS != nil); err != nil {
		m.note(p.Host, State{Error: err.Error(), At: time.Now()})
		return
	}
	if p.OnDemand {
		return // the first handshake obtains it
	}
	config, ctx := m.issuer(p.group()).config, m.begin(p.Host)
	recovery.Go(func() { m.persist(ctx, config, p.Host) })
}

// own adopts a certificate provided by the user.
func (m *Manager) own(p Policy) {
	certificate, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err == nil && certificate.Leaf.VerifyHostname(strings.Replace(p.Host, "*.", "any.", 1)) != nil {
		err = fmt.Errorf("the certificate is for %s", strings.Join(certificate.Leaf.DNSNames, ", "))
	}
	if err != nil {
		m.note(p.Host, State{Error: "the certificate can't be used: " + err.Error(), At: time.Now()})
		return
	}
	m.mu.Lock()
	m.owned[p.Host] = &certificate
	m.mu.Unlock()
	m.note(p.Host, State{NotAfter: certificate.Leaf.NotAfter, At: time.Now()})
}

// cached records the state of a certificate that is served from now on, and reports whether there is one. A wildcard's
// certificate doesn't count for a host that needs its own.
func (m *Manager) cached(name string) (found bool) {
	for _, c := range m.cache.AllMatchingCertificates(name) {
		if c.Leaf != nil && slices.Contains(c.Names, name) {
			m.note(name, State{NotAfter: c.Leaf.NotAfter, At: time.Now()})
			found = true
		}
	}
	return found
}

// State returns the state of a host's certificate, and false if it isn't known yet.
func (m *Manager) State(host string) (State, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state, known := m.states[host]
	return state, known
}

// note stores a state under the policy's host, because names on demand are unlimited in number.
func (m *Manager) note(name string, state State) {
	p, found := m.policyOf(name)
	if !found {
		return // the ingress was removed
	}
	host := p.Host
	m.mu.Lock()
	if before := m.states[host]; state.Error != "" {
		state.NotAfter = before.NotAfter // the current certificate stays in use
	}
	m.states[host] = state
	m.mu.Unlock()
	m.opts.Changed()
}

// policyOf returns the policy that serves a name: the name's own before a wildcard's.
func (m *Manager) policyOf(name string) (Policy, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found *Policy
	for i := range m.policies {
		if p := &m.policies[i]; p.covers(name) && (found == nil || p.Host == name) {
			found = p
		}
	}
	if found == nil {
		return Policy{}, false
	}
	return *found, true
}
