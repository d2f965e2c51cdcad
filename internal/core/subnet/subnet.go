package subnet

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// Node holds what is known of a node.
type Node struct {
	// Has is its part as it was decided before, Uses the subnet of its containers' network; invalid if there is none.
	Has, Uses netip.Prefix
	// Taken are networks that its machine reaches otherwise. Its own part has nothing of them; those of others only if
	// there is no room elsewhere: a node can't claim the whole range.
	Taken []netip.Prefix
}

// Assign returns the subnet of each node, and why a node has none. Subnets have the given length and are in the range,
// except for those that nodes have or use already. No two of them overlap.
func Assign(within netip.Prefix, bits int, nodes map[string]Node) (map[string]netip.Prefix, map[string]string) {
	a := &assignment{given: map[string]netip.Prefix{}, refused: map[string]string{}}
	names := slices.Sorted(maps.Keys(nodes))
	for _, name := range names { // what is in use as it was decided, or may still be
		if node := nodes[name]; node.Has.IsValid() &&
			(node.Uses == node.Has || !node.Uses.IsValid() && inside(within, node.Has)) {
			a.keep(name, node.Has)
		}
	}
	for _, name := range names { // what is in use otherwise
		if node := nodes[name]; node.Uses.IsValid() && node.Uses != node.Has {
			a.keep(name, node.Uses)
		}
	}
	all := map[netip.Prefix]bool{}
	for _, node := range nodes {
		for _, taken := range node.Taken {
			all[taken] = true
		}
	}
	a.taken = slices.Collect(maps.Keys(all))
	from := within.Masked()
	for _, name := range names {
		if nodes[name].Uses.IsValid() || a.given[name].IsValid() {
			continue
		}
		if from = a.choose(name, from, within, bits); !a.given[name].IsValid() {
			a.taken = nodes[name].Taken
			a.choose(name, within.Masked(), within, bits)
			a.taken = slices.Collect(maps.Keys(all))
		}
	}
	return a.given, a.refused
}

// inside reports whether a subnet lies in the range: one that was given before another range was declared doesn't.
func inside(within, subnet netip.Prefix) bool {
	return within.Bits() <= subnet.Bits() && within.Contains(subnet.Addr())
}

type assignment struct {
	given   map[string]netip.Prefix
	refused map[string]string
	taken   []netip.Prefix
}

// keep gives a node a subnet that it has, unless another one has some of it.
func (a *assignment) keep(name string, subnet netip.Prefix) {
	for _, other := range slices.Sorted(maps.Keys(a.given)) {
		if a.given[other].Overlaps(subnet) {
			a.refused[name] = fmt.Sprintf("its containers use %s, and node %s has %s", subnet, other, a.given[other])
			return
		}
	}
	a.given[name] = subnet
}

// choose gives a node the first free subnet, beginning at one; it returns where the next search may begin.
func (a *assignment) choose(name string, from, within netip.Prefix, bits int) netip.Prefix {
	candidate := netip.PrefixFrom(from.Addr(), bits)
	for within.Contains(candidate.Addr()) {
		if !a.overlaps(candidate) {
			a.given[name] = candidate
			delete(a.refused, name)
			return candidate
		}
		next, more := after(candidate)
		if !more {
			break
		}
		candidate = next
	}
	a.refused[name] = fmt.Sprintf("no /%d in %s is free of other nodes and of what its machine reaches otherwise",
		bits, within)
	return candidate
}

func (a *assignment) overlaps(candidate netip.Prefix) bool {
	for _, other := range a.given {
		if other.Overlaps(candidate) {
			return true
		}
	}
	return slices.ContainsFunc(a.taken, candidate.Overlaps)
}

// after returns the subnet that follows another of the same length; false behind the last address.
func after(subnet netip.Prefix) (netip.Prefix, bool) {
	bytes := subnet.Addr().As4()
	next := uint64(binary.BigEndian.Uint32(bytes[:])) + 1<<(32-subnet.Bits())
	if next > 1<<32-1 {
		return subnet, false
	}
	binary.BigEndian.PutUint32(bytes[:], uint32(next))
	return netip.PrefixFrom(netip.AddrFrom4(bytes), subnet.Bits()), true
}
