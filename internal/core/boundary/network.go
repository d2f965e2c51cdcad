package boundary

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"

	"tend.dev/tend/api"
)

// enginePools are the networks from which Docker's engine gives its bridges their subnets unless it is configured
// otherwise: a node that ran containers before a network was declared is in one of them.
var enginePools = []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")}

// private are the networks that no machine of the internet has (RFC 1918, RFC 6598, RFC 4193).
var private = append([]netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("fc00::/7"),
}, enginePools...)

// Private reports whether a network lies within those that no machine of the internet has.
func Private(network netip.Prefix) bool { return inside(private, network) }

func inside(one []netip.Prefix, network netip.Prefix) bool {
	return network.IsValid() && slices.ContainsFunc(one, func(within netip.Prefix) bool {
		return within.Bits() <= network.Bits() && within.Contains(network.Addr())
	})
}

// widestSubnet is the shortest prefix that a node's own network of containers may have.
const widestSubnet = 16

// Subnet returns why a node may not have a subnet that it says its containers use; empty if it may. It has to lie in
// the declared range, or in what engines choose by themselves, and hold no address of another node.
func Subnet(uses, declared netip.Prefix, others []netip.Addr) string {
	switch {
	case !uses.Addr().Is4():
		return fmt.Sprintf("its containers use %s, which is not an IPv4 network", uses)
	case uses.Bits() < widestSubnet:
		return fmt.Sprintf("its containers use %s, which is wider than a /%d", uses, widestSubnet)
	case !inside([]netip.Prefix{declared}, uses) && !inside(enginePools, uses):
		return fmt.Sprintf("its containers use %s, outside of the network's range %s", uses, declared)
	}
	for _, other := range others {
		if uses.Contains(other) {
			return fmt.Sprintf("its containers use %s, where %s is another node", uses, other)
		}
	}
	return ""
}

// MaxTaken bounds the networks that a node says its machine reaches otherwise. A machine has tens of them.
const MaxTaken = 1024

// keyBytes is the length of a key of WireGuard.
const keyBytes = 32

// Network returns why what a node says of its network is refused; empty if it isn't. Its address and its subnet have
// rules of their own. Other nodes get the key.
func Network(said api.NetworkNodeStatus) string {
	key, err := base64.StdEncoding.DecodeString(said.Key)
	switch {
	case said.Key != "" && (err != nil || len(key) != keyBytes || base64.StdEncoding.EncodeToString(key) != said.Key):
		return fmt.Sprintf("its key is not %d bytes in base64", keyBytes)
	case said.Message != Reason(said.Message):
		return fmt.Sprintf("its message is not a text of at most %d bytes", maxReason)
	case len(said.Taken) > MaxTaken:
		return fmt.Sprintf("its machine is in %d networks, more than %d", len(said.Taken), MaxTaken)
	}
	return ""
}

// Address reports whether a node can be reached at an address by others: it is one machine's, and not the asking
// machine's own.
func Address(address netip.Addr) bool {
	return Relay(address) && !address.IsLoopback()
}

// Relay reports whether others may go to an address for a node's relay. They go by its certificate, so the address
// proves nothing; it only must not be one that a service of the cloud or several machines answer.
func Relay(address netip.Addr) bool {
	return address.IsValid() && !address.IsUnspecified() && !address.IsMulticast() && !address.IsLinkLocalUnicast() &&
		address != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// Pod reports whether a pod's address, as its node reports it, may be asked by others. With a network it lies in the
// subnet that the node was given. Without one it is private, and no node's own.
func Pod(address netip.Addr, subnet netip.Prefix, networked bool, nodes []netip.Addr) bool {
	if networked {
		return subnet.IsValid() && subnet.Contains(address)
	}
	return Address(address) && inside(private, netip.PrefixFrom(address, address.BitLen())) &&
		!slices.Contains(nodes, address)
}
