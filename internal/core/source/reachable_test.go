package source

import (
	"net/netip"
	"testing"
)

// TestReachable: a machine at 192.0.2.2 and fd00::2 with a bridge of Docker's, a network for storage and an overlay.
func TestReachable(t *testing.T) {
	const uplink, bridge, storage, overlay = 2, 3, 4, 5
	to := func(prefix, gateway string, link int) Route {
		by, _ := netip.ParseAddr(gateway)
		return Route{To: netip.MustParsePrefix(prefix), Gateway: by, Interface: link}
	}
	worse := to("10.9.0.0/16", "", uplink)
	worse.Metric = 100
	machine := Machine{
		Own: []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("fd00::2%eth0"),
			netip.MustParseAddr("::ffff:172.17.0.1")},
		Routes: []Route{to("0.0.0.0/0", "192.0.2.1", uplink), to("::/0", "fe80::1", uplink), to("192.0.2.0/24", "", uplink),
			to("fd00::/64", "", uplink), to("172.17.0.0/16", "", bridge), to("10.7.0.0/16", "192.0.2.9", uplink), to("10.8.0.0/16", "", storage),
			worse, to("10.9.0.0/16", "", storage), to("10.210.3.0/24", "", overlay), to("10.210.0.0/16", "192.0.2.9", uplink)},
	}
	for address, tc := range map[string]struct {
		reason string
		want   bool
	}{
		"203.0.113.7": {"the internet", true}, "2001:db8::7": {"the internet", true}, "10.0.0.7": {"by the gateway", true},
		"192.0.2.3": {"a neighbour, as a company's git server", true}, "fd00::7": {"a neighbour", true},
		"10.7.0.1":  {"by another gateway of that network", true},
		"192.0.2.1": {"the gateway", false}, "::ffff:192.0.2.1": {"the gateway", false},
		"127.0.0.1": {"itself", false}, "127.8.9.1": {"itself", false}, "::1": {"itself", false},
		"::ffff:127.0.0.1": {"itself", false}, "0.0.0.0": {"itself", false}, "::": {"itself", false},
		"192.0.2.2": {"itself", false}, "::ffff:192.0.2.2": {"itself", false}, "fd00::2": {"itself", false},
		"172.17.0.1": {"itself", false}, "169.254.169.254": {"the link", false},
		"::ffff:169.254.169.254": {"the link", false}, "fe80::1": {"the link", false}, "fe80::1%eth0": {"the link", false},
		"224.0.0.1": {"many machines", false}, "255.255.255.255": {"many machines", false},
		"172.17.0.2": {"a container of the machine", false}, "::ffff:172.17.0.2": {"the same", false},
		"10.210.3.7": {"a container of another node", false}, "10.210.4.7": {"not by the overlay", true},
		"10.8.0.1": {"a network of the machine's own", false}, "10.9.0.1": {"the better way is the machine's own", false},
	} {
		if got := Reachable(netip.MustParseAddr(address), machine); got != tc.want {
			t.Errorf("%s (%s): %t", address, tc.reason, got)
		}
	}
	vpn := Machine{Routes: []Route{to("0.0.0.0/0", "192.0.2.1", uplink), to("0.0.0.0/1", "10.8.0.1", storage), to("128.0.0.0/1", "10.8.0.1", storage)}}
	if !Reachable(netip.MustParseAddr("203.0.113.7"), vpn) || Reachable(netip.MustParseAddr("10.8.0.1"), vpn) {
		t.Error("with a VPN to everything the internet can't be reached, or its gateway can")
	}
}
