package api

import (
	"cmp"
	"net/netip"
)

// NetworkSpec declares the network between the containers of different nodes. There is at most one, called tend0 as the
// network that containers join on each node.
type NetworkSpec struct {
	// Driver is the way of packets between nodes: wireguard (encrypted) or vxlan (not encrypted). Default wireguard.
	Driver string `json:"driver,omitempty" hcl:"driver,optional"`
	// Range is the network that the subnets of nodes are chosen from. Default 10.80.0.0/12.
	Range string `json:"range,omitempty" hcl:"range,optional"`
	// SubnetBits is the length of the prefix of a node's subnet, 16 to 28. Default 22: 1,021 containers a node.
	SubnetBits int `json:"subnet_bits,omitempty" hcl:"subnet_bits,optional"`
	// Port is the UDP port on which nodes take each other's packets. Default 8689.
	Port int `json:"port,omitempty" hcl:"port,optional"`
	// Allow are the connections between scopes. All others are refused: scopes are apart.
	Allow []NetworkAllow `json:"allow,omitempty" hcl:"allow,block"`
}

// NetworkAllow lets the containers of some scopes connect to those of others, and get their answers. It says nothing of
// the way back.
type NetworkAllow struct {
	// From are the scopes that may connect; "*" is all of them.
	From []string `json:"from" hcl:"from"`
	// To are the scopes they may connect to; "*" is all of them.
	To []string `json:"to" hcl:"to"`
}

// EveryScope stands for all scopes in a NetworkAllow.
const EveryScope = "*"

// The drivers of a network, and the defaults of its fields.
const (
	DriverWireGuard = "wireguard"
	DriverVXLAN     = "vxlan"

	DefaultNetworkRange      = "10.80.0.0/12"
	DefaultNetworkSubnetBits = 22
	DefaultNetworkPort       = 8689

	// OverlayDevice is the network device through which a node reaches the containers of others.
	OverlayDevice = "tend-overlay"
)

// WithDefaults returns s with the defaults of what was left out.
func (s NetworkSpec) WithDefaults() NetworkSpec {
	s.Driver = cmp.Or(s.Driver, DriverWireGuard)
	s.Range = cmp.Or(s.Range, DefaultNetworkRange)
	s.SubnetBits = cmp.Or(s.SubnetBits, DefaultNetworkSubnetBits)
	s.Port = cmp.Or(s.Port, DefaultNetworkPort)
	return s
}

// NetworkRef is the network's name.
var NetworkRef = Ref{Kind: KindNetwork, Scope: Unscoped, Name: Network}

// Subnets are the parts of the network, by node. Key /network/subnets; the network's controller writes it.
type Subnets struct {
	Nodes map[string]netip.Prefix `json:"nodes"`
}

// NetworkNodeStatus describes the connection of a node to the others. Key /actual/network/<node>; that node's agent
// alone writes it.
type NetworkNodeStatus struct {
	Node string `json:"node"`
	// Address is its address for other nodes, Key its public key of WireGuard.
	Address netip.Addr `json:"address,omitzero"`
	Key     string     `json:"key,omitempty"`
	// Subnet is the subnet of the network that its containers join, if it exists already.
	Subnet netip.Prefix `json:"subnet,omitzero"`
	// Taken lists the networks that the machine is in, or for which it has other routes.
	Taken []netip.Prefix `json:"taken,omitempty"`
	// Connected: packets to the other nodes are sent on their way. Message says why not, or which nodes are left out.
	Connected bool   `json:"connected"`
	Message   string `json:"message,omitempty"`
}

// NetworkStatus describes the network.
type NetworkStatus struct {
	ObservedGeneration int64         `json:"observedGeneration,omitempty"`
	ObservedRevision   int64         `json:"observedRevision,omitempty"`
	Nodes              []NetworkNode `json:"nodes,omitempty"`
	Conditions         []Condition   `json:"conditions,omitempty"`
}

// NetworkNode is a node as the network's status lists it.
type NetworkNode struct {
	Node      string       `json:"node"`
	Subnet    netip.Prefix `json:"subnet,omitzero"`
	Address   netip.Addr   `json:"address,omitzero"`
	Connected bool         `json:"connected"`
	Message   string       `json:"message,omitempty"`
}

// maxAllowed bounds the entries of a network's policy, and the scopes of one side of an entry.
const maxAllowed = 256

func (c *checker) allowed(allow []NetworkAllow) {
	if len(allow) > maxAllowed {
		c.add("allow", "%d entries are more than %d", len(allow), maxAllowed)
		return
	}
	for i, entry := range allow {
		c.scopes(index("allow", i)+".from", entry.From)
		c.scopes(index("allow", i)+".to", entry.To)
	}
}

// scopes checks one side of an entry of a policy.
func (c *checker) scopes(field string, names []string) {
	switch {
	case len(names) == 0:
		c.add(field, `names no scope: write the scopes, or "*" for all`)
	case len(names) > maxAllowed:
		c.add(field, "%d scopes are more than %d", len(names), maxAllowed)
	}
	for i, name := range names {
		if name != EveryScope {
			c.name(index(field, i), name)
		}
	}
}

func (c *checker) nodeNetwork(s NetworkSpec) {
	c.allowed(s.Allow)
	c.oneOf("driver", s.Driver, DriverWireGuard, DriverVXLAN)
	s = s.WithDefaults()
	c.between("subnet_bits", s.SubnetBits, 16, 28)
	c.between("port", s.Port, 1, 65535)
	whole, err := netip.ParsePrefix(s.Range)
	switch {
	case err != nil || !whole.Addr().Is4():
		c.add("range", "%q is not an IPv4 network such as %s", s.Range, DefaultNetworkRange)
	case whole != whole.Masked():
		c.add("range", "%s has bits beyond its prefix: write %s", s.Range, whole.Masked())
	case !whole.Addr().IsPrivate() && !sharedAddresses.Contains(whole.Addr()):
		c.add("range", "%s is not private: choose one of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or %s",
			s.Range, sharedAddresses)
	case whole.Bits() > s.SubnetBits:
		c.add("range", "%s is smaller than the subnet of one node, /%d", s.Range, s.SubnetBits)
	}
}

// sharedAddresses is the range of RFC 6598, which no host on the internet has either.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")
