package node

import (
	"net/netip"

	"tend.dev/tend/api"
)

// Network connects the containers of a node with those of others. Without a driver they aren't connected.
type Network struct {
	// Driver and Port are those of the network's spec, with their defaults.
	Driver string `json:"driver,omitempty"`
	Port   int    `json:"port,omitempty"`
	// Subnet is the node's own, also without a driver; invalid if it has none yet.
	Subnet netip.Prefix `json:"subnet,omitzero"`
	// Peers are the other nodes that can be reached, by name.
	Peers map[string]Peer `json:"peers,omitempty"`
	// Policy says which scopes may connect to each other; nil: all may, as an older server means it.
	Policy *Policy `json:"policy,omitempty"`
}

// Policy lists what may pass between the containers of different scopes; the network drops everything else.
type Policy struct {
	Allow []api.NetworkAllow `json:"allow,omitempty"`
}

// Pods are the scopes of pods by their address, of one node or of several that have no address in common.
type Pods map[netip.Addr]string

// Peer is another node.
type Peer struct {
	// Address is the node's address, Key its public key of WireGuard, Subnet the subnet of its containers.
	Address netip.Addr   `json:"address"`
	Key     string       `json:"key,omitempty"`
	Subnet  netip.Prefix `json:"subnet"`
}

// Names are the addresses that a DNS name stands for.
type Names struct {
	// Known: the name is one of a workload, which may have no pod that is ready.
	Known bool `json:"known,omitempty"`
	// Addresses lists the addresses of the ready pods.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// PeerOf returns the peer that a node is for others, once it has a subnet and an address, and has heard of the network:
// only then it has a key.
func PeerOf(subnet netip.Prefix, status api.NetworkNodeStatus) (Peer, bool) {
	return Peer{Address: status.Address, Key: status.Key, Subnet: subnet}, subnet.IsValid() &&
		status.Address.IsValid() && status.Key != ""
}

// Relay describes the relay of another node: its address for connections to its pods, and its right to connect to the
// pods of others.
type Relay struct {
	// Address is invalid if the node takes none, or has not said so yet.
	Address netip.AddrPort `json:"address,omitzero"`
	// UID is the uid in the machine's certificate.
	UID string `json:"uid,omitempty"`
	// Asks is set for a node that serves ingresses. Other nodes may connect only to ports that are open on every node.
	Asks bool `json:"asks,omitempty"`
}
