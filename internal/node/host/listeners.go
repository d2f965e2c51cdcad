package host

import (
	"context"
	"net/netip"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ports"
)

// listeners returns Tend's own on this machine, but for those of its proxy, which the agent knows.
func (h *Host) listeners(ctx context.Context) []ports.Listener {
	out := slices.Clone(h.Listeners)
	if h.relay != nil {
		out = append(out, ports.ListenerAt(h.relay.listener.Addr().String(), "for other nodes", "--relay-listen")...)
	}
	if c := h.callbacks; c != nil && c.wanted() {
		if at, err := c.addr(ctx); err == nil {
			out = append(out, ports.ListenerAt(netip.AddrPortFrom(at, uint16(c.port)).String(), "for containers that call back",
				"--callback-port")...)
		}
	}
	if network := h.Control.Network(); network.Driver != "" {
		out = append(out, ports.Listener{For: "for the network between nodes", Change: "port of the network",
			Port: ports.Port{IP: netip.IPv4Unspecified(), Number: network.Port, Protocol: api.ProtocolUDP}})
	}
	return out
}
