package ingress

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// origin is the source of a request: the address of its client, and the scheme and the Host that the client used.
type origin struct {
	client, host string
	secure       bool
}

// originOf returns the origin of a request. It trusts X-Forwarded-For, -Proto and -Host only from a trusted proxy.
func (p *Proxy) originOf(r *http.Request) origin {
	o := origin{client: addressOf(r.RemoteAddr), host: r.Host, secure: r.TLS != nil}
	if !p.isTrusted(r) {
		return o
	}
	// Each proxy appends the address of its client. The chain of trusted proxies ends at the first address that isn't
	// trusted: the client's, which itself wrote any entry before.
	for said := range backwards(r.Header["X-Forwarded-For"]) {
		address := addrOf(addressOf(said))
		if !address.IsValid() {
			break
		}
		o.client = address.String()
		if !oneHas(p.opts.Trusted, address) {
			break
		}
	}
	switch strings.ToLower(last(r.Header["X-Forwarded-Proto"])) {
	case "https", "wss":
		o.secure = true
	case "http", "ws":
		o.secure = false
	}
	if said := last(r.Header["X-Forwarded-Host"]); said != "" && validHost(said) {
		o.host = said
	}
	return o
}

// isTrusted reports whether a request came from a proxy that is trusted.
func (p *Proxy) isTrusted(r *http.Request) bool {
	return len(p.opts.Trusted) > 0 && oneHas(p.opts.Trusted, addrOf(addressOf(r.RemoteAddr)))
}

// last returns the last element of a list, or "": the nearest proxy wrote it, while the client may have written the
// earlier ones.
func last(fields []string) string {
	for said := range backwards(fields) {
		return said
	}
	return ""
}

// backwards yields the elements of a list in one or several fields, the last one first.
func backwards(fields []string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, field := range slices.Backward(fields) {
			for more := true; more; {
				at := strings.LastIndexByte(field, ',')
				if !yield(strings.TrimSpace(field[at+1:])) {
					return
				}
				if more = at >= 0; more {
					field = field[:at]
				}
			}
		}
	}
}

// oneHas reports whether one of the networks contains an address.
func oneHas(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(address) })
}

// addrOf parses an address, without its zone; invalid text gives the zero Addr.
func addrOf(text string) netip.Addr {
	address, _ := netip.ParseAddr(strings.Trim(text, "[]"))
	return address.Unmap().WithZone("")
}

// addressOf returns an address without its port, if it has one.
func addressOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
