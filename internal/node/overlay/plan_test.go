package overlay

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

var (
	own    = netip.MustParsePrefix("10.80.0.0/22")
	second = Path{Subnet: netip.MustParsePrefix("10.80.4.0/22"), Address: netip.MustParseAddr("192.0.2.2"), Key: "k2"}
	third  = Path{Subnet: netip.MustParsePrefix("10.80.8.0/22"), Address: netip.MustParseAddr("192.0.2.3"), Key: "k3"}
	there  = Device{Driver: api.DriverWireGuard, Port: 8689, MTU: 1440, Key: "k1", Own: own.Addr()}
)

func wanted(peers ...Path) Wanted {
	w := Wanted{
		Network: node.Network{Driver: api.DriverWireGuard, Port: 8689, Subnet: own, Peers: map[string]node.Peer{}},
		Key:     "k1", MTU: 1500, Address: netip.MustParseAddr("192.0.2.1"), Bridged: true,
	}
	for _, peer := range peers {
		w.Peers["n"+peer.Key[1:]] = node.Peer{Address: peer.Address, Key: peer.Key, Subnet: peer.Subnet}
	}
	return w
}

func state(paths ...Path) State {
	d := there
	s := State{Device: &d, Permitted: own, Paths: map[netip.Prefix]Path{}}
	for _, path := range paths {
		s.Paths[path.Subnet] = path
	}
	return s
}

func TestPlan(t *testing.T) {
	moved := second
	moved.Address = netip.MustParseAddr("192.0.2.9")
	vxlan, unwanted, smaller := wanted(second), wanted(), wanted()
	vxlan.Driver, unwanted.Driver, smaller.MTU = api.DriverVXLAN, "", 1400
	waiting, plain, keyless, taken := wanted(), wanted(), wanted(second), state(second)
	waiting.Subnet, plain.Bridged = netip.Prefix{}, false
	keyless.Peers["n2"] = node.Peer{Address: second.Address, Subnet: second.Subnet}
	taken.Others = []Route{{netip.MustParsePrefix("10.80.5.0/24"), "br-1"}}
	other := state()
	other.Permitted = second.Subnet
	for _, test := range []struct {
		name   string
		wanted Wanted
		state  State
		want   string
		fault  string
	}{
		{name: "nothing is wanted, nothing is there", wanted: unwanted},
		{name: "from nothing", wanted: wanted(second, third),
			want: "create device wireguard at 10.80.0.0, port 8689, MTU 1440; connect 10.80.4.0/22 by 192.0.2.2; connect 10.80.8.0/22 by 192.0.2.3; permit 10.80.0.0/22"},
		{name: "as it should be", wanted: wanted(second), state: state(second)},
		{name: "a peer comes", wanted: wanted(second, third), state: state(second),
			want: "connect 10.80.8.0/22 by 192.0.2.3"},
		{name: "a peer goes", wanted: wanted(second), state: state(second, third), want: "disconnect 10.80.8.0/22"},
		{name: "a peer's address changed", wanted: wanted(moved), state: state(second),
			want: "connect 10.80.4.0/22 by 192.0.2.9"},
		{name: "a part of the path was removed", wanted: wanted(second), state: state(Path{Subnet: second.Subnet}),
			want: "connect 10.80.4.0/22 by 192.0.2.2"},
		{name: "another driver", wanted: vxlan, state: state(second),
			want: "remove device; create device vxlan at 10.80.0.0, port 8689, MTU 1450; connect 10.80.4.0/22 by 192.0.2.2"},
		{name: "another MTU", wanted: smaller, state: state(),
			want: "remove device; create device wireguard at 10.80.0.0, port 8689, MTU 1340"},
		{name: "the network was deleted", wanted: unwanted, state: state(second), want: "remove device; forbid 10.80.0.0/22"},
		{name: "the node lost its subnet", wanted: waiting, state: state(second), want: "remove device; forbid 10.80.0.0/22"},
		{name: "without an engine's network", wanted: plain, state: state(), want: "forbid 10.80.0.0/22"},
		{name: "the exceptions are another subnet's", wanted: wanted(), state: other,
			want: "forbid 10.80.4.0/22; permit 10.80.0.0/22"},
		{name: "a peer whose subnet is taken", wanted: wanted(second), state: taken, want: "disconnect 10.80.4.0/22",
			fault: "node n2 has 10.80.4.0/22, which overlaps br-1 of this machine (10.80.5.0/24)"},
		{name: "a peer without a key", wanted: keyless, state: state(), fault: "node n2 has no key yet"},
	} {
		t.Run(test.name, func(t *testing.T) {
			actions, faults := Plan(test.wanted, test.state)
			var texts []string
			for _, action := range actions {
				texts = append(texts, action.String())
			}
			if diff := cmp.Diff(test.want, strings.Join(texts, "; ")) + cmp.Diff(test.fault,
				strings.Join(faults, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
