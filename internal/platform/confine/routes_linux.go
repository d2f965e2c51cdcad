package confine

import (
	"errors"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"

	"tend.dev/tend/internal/core/source"
)

// routes returns the machine's main table.
func routes() (out []source.Route, err error) {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		listed, err := netlink.RouteList(nil, family)
		if errors.Is(err, netlink.ErrDumpInterrupted) { // the routes changed meanwhile
			listed, err = netlink.RouteList(nil, family)
		}
		if err != nil {
			return nil, err
		}
		for _, route := range listed {
			out = append(out, hops(family, route)...)
		}
	}
	return out, nil
}

// hops returns a route, or as many as it has ways.
func hops(family int, from netlink.Route) (out []source.Route) {
	made := source.Route{To: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Metric: from.Priority}
	if family == netlink.FAMILY_V6 {
		made.To = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	if from.Dst != nil {
		address, _ := netip.AddrFromSlice(from.Dst.IP)
		ones, _ := from.Dst.Mask.Size()
		made.To = netip.PrefixFrom(address.Unmap(), ones)
	}
	add := func(link int, gateway net.IP) {
		made.Interface = link
		made.Gateway, _ = netip.AddrFromSlice(gateway)
		out = append(out, made)
	}
	for _, hop := range from.MultiPath {
		add(hop.LinkIndex, hop.Gw)
	}
	if len(from.MultiPath) == 0 {
		add(from.LinkIndex, from.Gw)
	}
	return out
}
