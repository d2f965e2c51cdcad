//go:build integration && linux

package confine

import (
	"errors"
	"net/netip"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// TestRoutesOfTheKernel: on a machine with an uplink and a bridge, made of the kernel's own devices, the containers of
// the bridge are refused, and a neighbour at the uplink isn't.
func TestRoutesOfTheKernel(t *testing.T) {
	runtime.LockOSThread() // the thread ends with the test, and with it its network namespace
	if _, err := netns.New(); err != nil {
		t.Fatal(err)
	}
	add := func(name, address string) netlink.Link {
		t.Helper()
		link := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}
		parsed, err := netlink.ParseAddr(address)
		if err == nil {
			err = errors.Join(netlink.LinkAdd(link), netlink.LinkSetUp(link), netlink.AddrAdd(link, parsed))
		}
		if err != nil {
			t.Fatal(err)
		}
		return link
	}
	uplink := add("up0", "198.51.100.2/24")
	add("br0", "172.20.0.1/16")
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: uplink.Attrs().Index, Gw: []byte{198, 51, 100, 1}}); err != nil {
		t.Fatal(err)
	}
	for address, refused := range map[string]bool{
		"172.20.0.2": true, "172.20.0.1": true, "198.51.100.1": true, "198.51.100.2": true, "198.51.100.3": false,
		"203.0.113.7": false,
	} {
		if err := Check(netip.MustParseAddr(address)); errors.Is(err, ErrRefused) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
}
