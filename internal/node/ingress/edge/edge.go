package edge

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/ingress/certs"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/platform/servicemanager"
)

// Options are the options of an Edge. Storage is required if a route wants TLS.
type Options struct {
	// HTTP and HTTPS are addresses such as :80. An empty one opens no listener.
	HTTP, HTTPS string
	// Hold is the time for which a request waits for a pod; see ingress.Options.
	Hold time.Duration
	// Balancers are networks whose connections begin with the PROXY protocol.
	Balancers []netip.Prefix
	// Trusted are networks of proxies in front of this one; see ingress.Options.
	Trusted []netip.Prefix
	// Sockets are listeners that outlive the process. Default: none.
	Sockets *servicemanager.Sockets
	Storage certmagic.Storage
	// Sign makes the cluster's own authority sign a request (PKCS #10 in DER); it returns PEM. Default: no such authority.
	Sign func(ctx context.Context, request []byte) ([]byte, error)
	// Directory is the ACME directory, Roots are the authorities its certificate is checked against. Default Let's
	// Encrypt's, the system's.
	Directory string
	Roots     *x509.CertPool
	// DNS solves DNS-01 challenges; without it there are no wildcard certificates. Resolver (host:port) is the DNS
	// server for the checks around DNS-01. Default the system's.
	DNS      certmagic.DNSProvider
	Resolver string
	// Relayed connects to a pod of another node; see ingress.Options.
	Relayed  ingress.Relayed
	Registry prometheus.Registerer
	// Access receives a line for each request; nil writes none.
	Access *slog.Logger
	Logger *slog.Logger
	// Changed is called when a listener or a certificate changed. It must not block.
	Changed func()
}

// Edge is one node's ingress. Safe for concurrent use; it runs once.
type Edge struct {
	proxy     *ingress.Proxy
	certs     *certs.Manager
	listeners *ingress.Listeners
	ports     *ingress.Ports
	opts      Options
	// first runs once, with the first routes: then the unneeded sockets of an earlier process are closed.
	first sync.Once
}

// New makes an Edge that serves nothing yet.
func New(o Options) *Edge {
	e := &Edge{opts: o}
	e.proxy = ingress.New(ingress.Options{
		Hold: o.Hold, Trusted: o.Trusted, SecurePort: portOf(o.HTTPS), Registry: o.Registry, Access: o.Access,
		Logger: o.Logger, Relayed: o.Relayed,
	})
	e.certs = certs.New(certs.Options{
		Storage: o.Storage, Sign: o.Sign, Directory: o.Directory, Roots: o.Roots, DNS: o.DNS,
		Resolver: o.Resolver, Changed: o.Changed,
	})
	e.ports = ingress.NewPorts(e.proxy,
		ingress.ListenOptions{Balancers: o.Balancers, Sockets: o.Sockets, Changed: o.Changed, Logger: o.Logger})
	e.listeners = ingress.NewListeners(ingress.ListenOptions{
		HTTP: o.HTTP, HTTPS: o.HTTPS, Handler: e.certs.Challenges(e.proxy), Secure: e.proxy, TLS: e.certs.TLSConfig(),
		Balancers: o.Balancers, Trusted: o.Trusted, Sockets: o.Sockets, Changed: o.Changed, Logger: o.Logger,
	})
	return e
}

// Update replaces the routes and the certificate policies.
func (e *Edge) Update(routes []ingress.Route, policies []certs.Policy) {
	e.proxy.Update(routes)
	e.certs.Update(policies)
	ports, hosts := map[api.Listen]bool{}, false
	for _, route := range routes {
		if route.Listen == (api.Listen{}) {
			hosts = true
		} else {
			ports[route.Listen] = true
		}
	}
	if len(routes) > 0 {
		e.first.Do(func() {
			e.opts.Sockets.Drop(func(fits func(string) bool) bool { return e.listens(fits, ports) })
		})
	}
	e.listeners.Want(hosts, len(policies) > 0)
	e.ports.Want(ports)
}

// unclaimed is the time for which sockets of an earlier process wait for the first routes: clients that connect
// meanwhile get no answer.
const unclaimed = 30 * time.Second

// free ends the sockets of an earlier process if there are no routes.
func (e *Edge) free(ctx context.Context) {
	timer := time.NewTimer(unclaimed)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		e.first.Do(func() { e.opts.Sockets.Drop(func(func(string) bool) bool { return false }) })
	}
}

// listens reports whether one of the listeners has an address that fits.
func (e *Edge) listens(fits func(address string) bool, ports map[api.Listen]bool) bool {
	if fits(e.opts.HTTP) || fits(e.opts.HTTPS) {
		return true
	}
	for at := range ports {
		if at.Protocol != api.ProtocolUDP && fits(at.Address()) {
			return true
		}
	}
	return false
}

// Drained waits until a pod that left the routes has no request in flight, or until ctx ends.
func (e *Edge) Drained(ctx context.Context, pod string) error { return e.proxy.Drained(ctx, pod) }

// Listeners returns the states of the plain and the secure listener.
func (e *Edge) States() (plain, secure ingress.ListenerState) { return e.listeners.States() }

// Ports returns the states of the ports, by Listen.String.
func (e *Edge) Ports() map[string]ingress.ListenerState { return e.ports.States() }

// Certificate returns the state of a host's certificate, and false if none is known yet.
func (e *Edge) Certificate(host string) (certs.State, bool) { return e.certs.State(host) }

// Run serves until ctx ends.
func (e *Edge) Run(ctx context.Context) error {
	defer e.certs.Close()
	var both recovery.Group
	both.Go(func() { _ = e.ports.Run(ctx) })
	both.Go(func() { e.free(ctx) })
	defer both.Wait()
	return e.listeners.Run(ctx)
}

func portOf(address string) int {
	_, text, _ := net.SplitHostPort(address)
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return port
}
