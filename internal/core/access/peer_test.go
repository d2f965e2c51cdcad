package access_test

import (
	"net/netip"
	"testing"

	"tend.dev/tend/internal/core/access"
)

func TestOnThisMachine(t *testing.T) {
	for address, tc := range map[string]struct {
		reason    string
		forwarded bool
		want      bool
	}{
		"127.0.0.1":        {"a program of this machine, or ssh's end of a forwarding", false, true},
		"127.8.0.1":        {"all of 127/8 is loopback", false, true},
		"::1":              {"loopback of IPv6", false, true},
		"::ffff:127.0.0.1": {"a listener of both families shows IPv4 like this", false, true},
		"127.0.0.2":        {"a proxy passes a request on for another machine", true, false},
		"172.20.0.2":       {"a container of this machine", false, false},
		"172.20.0.1":       {"an address of this machine that others may share, by NAT", false, false},
		"10.0.0.7":         {"another machine", false, false},
		"fe80::1":          {"a neighbour", false, false},
		"::ffff:10.0.0.7":  {"another machine, in IPv6's form", false, false},
		"":                 {"an unknown address", false, false},
	} {
		parsed, _ := netip.ParseAddr(address)
		if got := (access.Peer{Address: parsed, Forwarded: tc.forwarded}).OnThisMachine(); got != tc.want {
			t.Errorf("%s: %t: %s", address, got, tc.reason)
		}
	}
}
