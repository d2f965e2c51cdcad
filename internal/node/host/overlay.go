package host

import (
	"context"
	"net/netip"
	"path/filepath"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/overlay"
	"tend.dev/tend/internal/node/resolver"
)

// bridged is a runtime whose containers join a network of their own.
type bridged interface {
	Subnet(ctx context.Context) (netip.Prefix, error)
}

// newOverlay makes this machine's part of the network between nodes; nil for a runtime of tests, whose machines have no
// network.
func (h *Host) newOverlay() *overlay.Overlay {
	if h.Engine != nil {
		return nil
	}
	o := overlay.Options{
		Node: h.Node, Network: h.Control.Network, Report: h.Control.ReportNetwork,
		Synced: h.Control.Synced(), Hold: h.Hold, Address: h.outside,
		KeyFile: filepath.Join(h.Root, "overlay.key"), Fault: h.policyFault, Logger: h.Logger,
	}
	if h.bridged != nil {
		o.Bridge = h.bridge
	}
	h.resolver = resolver.New(resolver.Options{Ask: h.Control.Resolve, Logger: h.Logger})
	h.onStop(func() error { h.resolver.Close(); return nil })
	out := overlay.New(o)
	h.Control.Subscribe(func(change node.Change) {
		if change.Network {
			out.Changed()
		}
	})
	return out
}

// bridge returns the subnet of the containers' network, invalid if there is none yet. As soon as there is one, the
// machine answers its containers' name queries: containers from before this process already ask here.
func (h *Host) bridge(ctx context.Context) (netip.Prefix, error) {
	subnet, err := h.bridged.Subnet(ctx)
	if err != nil || !subnet.IsValid() || h.gateway == nil {
		return subnet, err
	}
	gateway, err := h.gateway.Gateway(ctx)
	if err != nil {
		return subnet, err
	}
	_, err = h.resolve(gateway)
	return subnet, err
}

// resolve makes this machine answer its containers' name queries, if there is or ever was a network between nodes:
// containers started then ask here for as long as they run.
func (h *Host) resolve(gateway netip.Addr) (bool, error) {
	if h.overlay == nil || !h.overlay.Used() || !gateway.IsValid() {
		return false, nil
	}
	return true, h.resolver.Listen(gateway)
}

// outside returns the address at which other nodes reach this machine; invalid if they can't.
func (h *Host) outside() netip.Addr {
	if h.Advertise != "" {
		address, _ := netip.ParseAddr(h.Advertise) // the flag was checked
		return address
	}
	if h.Outside == nil {
		return netip.Addr{}
	}
	return h.Outside()
}

// subnet returns the subnet and the MTU with which the containers' network is created.
func (h *Host) subnet() (netip.Prefix, int, error) {
	if h.overlay == nil {
		return netip.Prefix{}, 0, nil
	}
	return h.overlay.Subnet()
}
