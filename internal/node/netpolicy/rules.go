package netpolicy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/api/pattern"
)

// table is the name of the table, which is this package's alone.
const table = "inet tend"

// Input determines the rules.
type Input struct {
	Policy node.Policy
	// Own is the subnet of the containers of this machine, Local are these, and Bridge is the interface they share.
	Own    netip.Prefix
	Local  node.Pods
	Bridge string
	// Peers are the other nodes, by name, and Others their pods.
	Peers  map[string]node.Peer
	Others map[string]node.Pods
}

// scopeName matches the valid names of scopes. No other text gets into the rules.
var scopeName = pattern.Lazy(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// Open reports whether a policy lets every scope connect to every other one.
func Open(p node.Policy) bool {
	return slices.ContainsFunc(p.Allow, func(a api.NetworkAllow) bool {
		return slices.Contains(a.From, api.EveryScope) && slices.Contains(a.To, api.EveryScope)
	})
}

// Rules returns the script that replaces the table in one step.
//
// Two nodes may know different states of an address. Both the node that a packet leaves and the node that it enters
// judge it, and each knows its own containers for certain. The leaving side is strict: both ends must be known. So the
// entering side can accept an unknown address of another node: it is a new pod, or an init container, which only its
// own node knows.
func Rules(in Input) string {
	pods := places(in)
	b := &strings.Builder{}
	fmt.Fprintf(b, "table %s\ndelete table %s\ntable %s {\n", table, table, table)
	subnets, nodes := networks(in)
	set(b, "subnets", "type ipv4_addr; flags interval; auto-merge", subnets)
	set(b, "elsewhere", "type ipv4_addr; flags interval; auto-merge", elsewhere(in))
	set(b, "nodes", "type ipv4_addr", nodes)
	scopes := map[string][]string{}
	var all, from []string
	for _, address := range slices.SortedFunc(maps.Keys(pods), netip.Addr.Compare) {
		scope := pods[address]
		scopes[scope] = append(scopes[scope], address.String())
		all, from = append(all, address.String()), append(from, fmt.Sprintf("%s : goto from-%s", address, scope))
	}
	set(b, "pods", "type ipv4_addr", all)
	names := slices.Sorted(maps.Keys(scopes))
	for _, name := range names {
		set(b, "pods-"+name, "type ipv4_addr", scopes[name])
	}
	chain(b, "refuse", "ct state established meta l4proto tcp reject with tcp reset", "reject with icmpx admin-prohibited")
	for _, name := range names {
		chain(b, "from-"+name, connections(in.Policy, name, names)...)
	}
	elements(b, "map", "from", "type ipv4_addr : verdict", from)
	chain(b, "between",
		"ct state invalid,untracked drop", "ct status dnat accept", "ct original ip saddr @nodes accept",
		"ct original ip daddr @nodes accept",
		"ct original ip saddr vmap @from", "ct original ip saddr @elsewhere accept", "drop")
	hook := []string{"type filter hook forward priority filter - 10; policy accept;",
		"ip saddr @subnets ip daddr @subnets goto between"}
	if in.Bridge != "" {
		hook = append(hook, fmt.Sprintf("iifname %q oifname %q meta nfproto ipv6 drop", in.Bridge, in.Bridge))
	}
	chain(b, "forward", hook...)
	b.WriteString("}\n")
	return b.String()
}

// connections returns the rules for connections that containers of a scope open: to those they may reach, and to
// others. Packets to an unknown pod are dropped, not rejected: a connection that is retried a moment later passes.
func connections(policy node.Policy, scope string, known []string) (rules []string) {
	for _, other := range known {
		if other == scope || allows(policy, scope, other) {
			rules = append(rules, "ct original ip daddr @pods-"+other+" accept")
		}
	}
	return append(rules, "ct original ip daddr @pods goto refuse", "drop")
}

// allows reports whether containers of one scope may connect to those of another.
func allows(policy node.Policy, from, to string) bool {
	has := func(names []string, name string) bool {
		return slices.Contains(names, name) || slices.Contains(names, api.EveryScope)
	}
	return slices.ContainsFunc(policy.Allow, func(a api.NetworkAllow) bool { return has(a.From, from) && has(a.To, to) })
}

// places returns the scope of every known pod: this machine's own, and those of other nodes within their subnets. In
// this machine's subnet only its own pods count, even if another node has the same subnet.
func places(in Input) node.Pods {
	out := node.Pods{}
	add := func(within, without netip.Prefix, pods node.Pods) {
		for address, scope := range pods {
			if within.Contains(address) && !without.Contains(address) && address.Is4() && scopeName().MatchString(scope) {
				out[address] = scope
			}
		}
	}
	for name, peer := range in.Peers {
		add(peer.Subnet, in.Own, in.Others[name])
	}
	add(in.Own, netip.Prefix{}, in.Local)
	return out
}

// networks returns the subnets of all containers, and within them the addresses of the nodes themselves: the first, as
// which a node reaches the pods of others, and the next, which is the gateway.
func networks(in Input) (subnets, nodes []string) {
	all := map[netip.Prefix]bool{}
	for _, peer := range in.Peers {
		all[peer.Subnet.Masked()] = true
	}
	if in.Own.IsValid() {
		all[in.Own.Masked()] = true
	}
	for _, subnet := range slices.SortedFunc(maps.Keys(all),
		func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) }) {
		subnets = append(subnets, subnet.String())
		nodes = append(nodes, subnet.Addr().String(), subnet.Addr().Next().String())
	}
	return subnets, nodes
}

// elsewhere returns the subnets of other nodes.
func elsewhere(in Input) (subnets []string) {
	for _, peer := range in.Peers {
		if !peer.Subnet.Overlaps(in.Own) {
			subnets = append(subnets, peer.Subnet.Masked().String())
		}
	}
	slices.Sort(subnets)
	return slices.Compact(subnets)
}

func set(b *strings.Builder, name, kind string, values []string) {
	elements(b, "set", name, kind, values)
}

func elements(b *strings.Builder, what, name, kind string, values []string) {
	fmt.Fprintf(b, "\t%s %s {\n\t\t%s\n", what, name, kind)
	if len(values) > 0 {
		fmt.Fprintf(b, "\t\telements = { %s }\n", strings.Join(values, ", "))
	}
	b.WriteString("\t}\n")
}

func chain(b *strings.Builder, name string, rules ...string) {
	fmt.Fprintf(b, "\tchain %s {\n", name)
	for _, rule := range rules {
		fmt.Fprintf(b, "\t\t%s\n", rule)
	}
	b.WriteString("\t}\n")
}
