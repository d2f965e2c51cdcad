package source

import (
	"net/netip"
	"slices"
)

// Machine describes the network of a machine that makes calls.
type Machine struct {
	// Own are the addresses of its interfaces: what listens on all addresses answers there too.
	Own []netip.Addr
	// Routes are those of its main table.
	Routes []Route
}

// Route is a route of a machine.
type Route struct {
	To netip.Prefix
	// Interface is the index of the interface to which it leads.
	Interface int
	// Gateway is the neighbour through which it leads; the zero value if the addresses are neighbours themselves.
	Gateway netip.Addr
	// Metric orders routes to the same prefix: the lowest is used.
	Metric int
}

// isDefault reports whether a route leads to the rest of the world. VPNs split that in two halves.
func (r Route) isDefault() bool { return r.To.Bits() <= 1 }

// Reachable reports whether a call for an object that a source declared, which is not trusted, may go to an address. It
// may not go to the caller's own machine, nor to its link, where clouds answer with the machine's credentials, nor to
// networks of the machine's own: what it routes to another interface than the one to the rest of the world is a bridge
// with containers, an overlay with those of other nodes, a VPN or a network for storage. Neighbours in the network by
// which the machine reaches the world may be called, such as a git server of the company, but not its gateway.
func Reachable(address netip.Addr, m Machine) bool {
	address = plain(address)
	if !address.IsGlobalUnicast() || slices.ContainsFunc(m.Own, func(a netip.Addr) bool { return plain(a) == address }) {
		return false
	}
	var way *Route
	outside := map[int]bool{}
	for i, route := range m.Routes {
		if route.isDefault() {
			outside[route.Interface] = true
			if plain(route.Gateway) == address {
				return false
			}
		}
		if route.To.Contains(address) && (way == nil || route.before(*way)) {
			way = &m.Routes[i]
		}
	}
	return way == nil || way.isDefault() || outside[way.Interface]
}

// before reports whether the kernel takes a route rather than another one to the same address.
func (r Route) before(other Route) bool {
	if r.To.Bits() != other.To.Bits() {
		return r.To.Bits() > other.To.Bits()
	}
	return r.Metric < other.Metric
}

func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
