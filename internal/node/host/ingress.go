package host

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/ingress/edge"
	"tend.dev/tend/internal/platform/servicemanager"
)

// off turns a listener off.
const off = "off"

// IngressOptions are the options of the node's proxy.
type IngressOptions struct {
	// HTTP and HTTPS are the addresses it listens on once an ingress needs it; "off" and empty open no listener.
	HTTP, HTTPS string
	// Balancers are networks (CIDR) of load balancers that speak the PROXY protocol to the proxy.
	Balancers []string
	// Trusted are networks (CIDR) or addresses of proxies in front of it, whose X-Forwarded-* headers it trusts.
	Trusted []string
	// AccessLog is a file that gets a JSON line for each request, "-" for standard error. Default none.
	AccessLog string
	// Directory is the ACME directory. Default Let's Encrypt's. Roots is a PEM file with the authorities its
	// certificate is checked against. Default the system's.
	Directory string
	Roots     string
	// DNSServer is a name server that accepts dynamic updates, and DNSKey the file of the key that signs them: with both,
	// certificates are obtained by DNS-01, also for wildcards. Default none.
	DNSServer, DNSKey string
}

// Networks reads networks and addresses that a flag names.
func Networks(flag string, texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err == nil {
			out = append(out, network.Masked())
			continue
		}
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return nil, fmt.Errorf("%q is neither a network such as 10.0.0.0/8 nor an address: correct %s", text, flag)
		}
		out = append(out, netip.PrefixFrom(address, address.BitLen()))
	}
	return out, nil
}

func (o IngressOptions) roots() (*x509.CertPool, error) {
	if o.Roots == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.Roots)
	if err != nil {
		return nil, fmt.Errorf("read the ACME directory's roots: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM: correct --acme-roots", o.Roots)
	}
	return pool, nil
}

func (o IngressOptions) dns() (certmagic.DNSProvider, error) {
	switch {
	case o.DNSServer == "" && o.DNSKey == "":
		return nil, nil
	case o.DNSServer == "" || o.DNSKey == "":
		return nil, errors.New("--acme-dns-server and --acme-dns-key belong together: give both, or neither")
	}
	provider, err := edge.DynamicDNS(o.DNSServer, o.DNSKey)
	if err != nil {
		return nil, fmt.Errorf("%w; correct --acme-dns-key", err)
	}
	return provider, nil
}

// Wanted reports whether the options open a listener.
func (o IngressOptions) Wanted() bool {
	return o.HTTP != "" && o.HTTP != off || o.HTTPS != "" && o.HTTPS != off
}

// openEdge returns the constructor of the agent's proxy; nil if the options turn the proxy off.
func (h *Host) openEdge() (func(changed func()) agent.Edge, error) {
	if h.Edge != nil {
		return h.Edge, nil
	}
	o, sockets := h.Ingress, servicemanager.Inherited(h.Logger)
	if !o.Wanted() {
		sockets.Drop(func(func(string) bool) bool { return false })
		return nil, nil
	}
	balancers, err := Networks("--ingress-proxy-protocol", o.Balancers)
	if err != nil {
		return nil, err
	}
	trusted, err := Networks("--ingress-trusted-proxies", o.Trusted)
	if err != nil {
		return nil, err
	}
	roots, err := o.roots()
	if err != nil {
		return nil, err
	}
	dns, err := o.dns()
	if err != nil {
		return nil, err
	}
	access, err := h.openAccessLog()
	if err != nil {
		return nil, err
	}
	address := func(flag string) string {
		if flag == off {
			return ""
		}
		return flag
	}
	return func(changed func()) agent.Edge {
		return edge.New(edge.Options{
			HTTP: address(o.HTTP), HTTPS: address(o.HTTPS), Sockets: sockets, Balancers: balancers, Trusted: trusted,
			Storage: h.Control.Certificates(), Sign: h.Control.Sign,
			Directory: o.Directory, Roots: roots, DNS: dns, Registry: h.Registry, Access: access, Logger: h.Logger,
			Changed: changed, Relayed: h.relayed(),
		})
	}, nil
}

func (h *Host) openAccessLog() (*slog.Logger, error) {
	var out io.Writer = os.Stderr
	switch h.Ingress.AccessLog {
	case "":
		return nil, nil
	case "-":
	default:
		file, err := os.OpenFile(h.Ingress.AccessLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
		if err != nil {
			return nil, fmt.Errorf("open the access log: %w", err)
		}
		h.onStop(file.Close)
		out = file
	}
	return slog.New(slog.NewJSONHandler(out, nil)), nil
}
