package confine

import (
	"fmt"
	"net"
	"net/netip"

	"tend.dev/tend/internal/core/source"
)

// machine returns the network of the machine, which may change.
type machine func() (source.Machine, error)

// here describes this machine.
func here() (source.Machine, error) { return describe(net.InterfaceAddrs, routes) }

func describe(addresses func() ([]net.Addr, error), routes func() ([]source.Route, error)) (source.Machine, error) {
	listed, err := addresses()
	if err != nil {
		return source.Machine{}, fmt.Errorf("read the addresses of this machine: %w", err)
	}
	var out source.Machine
	for _, entry := range listed {
		if prefix, err := netip.ParsePrefix(entry.String()); err == nil {
			out.Own = append(out.Own, prefix.Addr())
		}
	}
	if out.Routes, err = routes(); err != nil {
		return source.Machine{}, fmt.Errorf("read the routes of this machine: %w", err)
	}
	return out, nil
}
