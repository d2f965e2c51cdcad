package local

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Network implements nodeapi.Control.
func (c *Control) Network() node.Network {
	snap := c.snapshot()
	out := c.networkHead(snap)
	if out.Driver == "" {
		return out
	}
	out.Peers = map[string]node.Peer{}
	for _, other := range snap.NetworkNodes() {
		if peer, ok := c.peer(snap, other.Value.Node); ok {
			out.Peers[other.Value.Node] = peer
		}
	}
	return out
}

// networkHead returns the network without the peers.
func (c *Control) networkHead(snap records.Snapshot) node.Network {
	var out node.Network
	if given := snap.Subnets(); given.Exists() {
		out.Subnet = given.Value.Nodes[c.node]
	}
	if spec, declared := declaredNetwork(snap); declared {
		out.Driver, out.Port, out.Policy = spec.Driver, spec.Port, &node.Policy{Allow: spec.Allow}
	}
	return out
}

// declaredNetwork returns the network that is declared, if one is.
func declaredNetwork(snap records.Snapshot) (api.NetworkSpec, bool) {
	object := snap.Object(api.NetworkRef)
	if !object.Exists() || object.Value.Metadata.Deleting() {
		return api.NetworkSpec{}, false
	}
	spec, err := api.DecodeSpec[api.NetworkSpec](*object.Value)
	return spec.WithDefaults(), err == nil
}

// sees returns a function that reports whether this node is given the addresses of another one and of its pods: only
// while a network is declared, in which they reach each other. Proxies need no network, and no address of a pod: they
// ask its node, of which Relays says where it is. Its own addresses a node always has.
func (c *Control) sees(snap records.Snapshot) func(on string) bool {
	_, declared := declaredNetwork(snap)
	return func(on string) bool { return declared || on == c.node }
}

// peer returns another node as this one reaches it.
func (c *Control) peer(snap records.Snapshot, other string) (node.Peer, bool) {
	given, status := snap.Subnets(), snap.NetworkNode(other)
	if other == c.node || !c.sees(snap)(other) || !given.Exists() || !status.Exists() {
		return node.Peer{}, false
	}
	return node.PeerOf(given.Value.Nodes[other], *status.Value)
}

// networkChanged returns the effects of a change of the network, or of one node's place in it, which others are given
// only while a network is declared: when one is, they read all of it.
func networkChanged(snap records.Snapshot, change view.Change) (out []effect) {
	names := map[string]bool{}
	switch record := valueOf(change).(type) {
	case *api.Object:
		return []effect{{all: true, network: true}}
	case *api.NetworkNodeStatus:
		wasAt, wasKey := placeOf(change.Old)
		isAt, isKey := placeOf(change.New)
		if wasAt != isAt {
			out = append(out, effect{table: true}) // pods that share their node's network are reached there
		}
		if wasAt != isAt || wasKey != isKey {
			names[record.Node] = true
		}
	case *api.Subnets:
		was, _ := change.Old.(*api.Subnets)
		is, _ := change.New.(*api.Subnets)
		if was == nil || is == nil {
			return []effect{{all: true, network: true}}
		}
		for _, nodes := range []map[string]netip.Prefix{was.Nodes, is.Nodes} {
			for name := range nodes {
				if was.Nodes[name] != is.Nodes[name] {
					names[name] = true
				}
			}
		}
	}
	if _, subnets := valueOf(change).(*api.Subnets); subnets {
		out = append(out, effect{table: true}) // a pod is reached in its node's subnet alone
	}
	_, declared := declaredNetwork(snap)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, effect{node: name, network: true})
		if declared {
			out = append(out, effect{all: true, peer: name})
		}
	}
	return out
}

// placeOf returns where others reach a node, and its key.
func placeOf(record any) (netip.Addr, string) {
	if status, ok := record.(*api.NetworkNodeStatus); ok {
		return status.Address, status.Key
	}
	return netip.Addr{}, ""
}

// ReportNetwork implements nodeapi.Control.
func (c *Control) ReportNetwork(ctx context.Context, status api.NetworkNodeStatus) error {
	if status.Node != c.node {
		return fmt.Errorf("the network of node %s: %w", status.Node, node.ErrForbidden)
	}
	if why := boundary.Network(status); why != "" {
		return fmt.Errorf("the network of node %s: %s: %w", c.node, why, node.ErrForbidden)
	}
	switch {
	case !status.Address.IsValid(): // it isn't known yet
	case !boundary.Address(status.Address):
		return fmt.Errorf("the address %s of node %s, which others can't reach: %w", status.Address,
			c.node, node.ErrForbidden)
	case slices.Contains(nodeAddresses(c.snapshot(), c.node), status.Address):
		return fmt.Errorf("the address %s of node %s is that of another node: %w", status.Address, c.node, node.ErrForbidden)
	}
	return c.put(ctx, "agent.network", records.NetworkNodeKey(c.node), status)
}
