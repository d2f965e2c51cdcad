//go:build integration && linux

package netpolicy_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/netpolicy"
)

// The settings with which a machine filters the packets of all its bridges.
var everyBridge = []string{"/proc/sys/net/bridge/bridge-nf-call-iptables",
	"/proc/sys/net/bridge/bridge-nf-call-ip6tables"}

// TestOneBridgeIsFiltered: the rules hold on the prepared bridge, whatever the machine's own settings are, and those
// stay unchanged: traffic of other bridges isn't Tend's concern.
func TestOneBridgeIsFiltered(t *testing.T) {
	runtime.LockOSThread() // the thread ends with the test, and its namespace with it
	machine := space(t)
	for _, setting := range everyBridge {
		if err := os.WriteFile(setting, []byte("0"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	subnet := netip.MustParsePrefix("10.80.0.0/22")
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
	must(t, netlink.LinkAdd(bridge))
	must(t, netlink.AddrAdd(bridge,
		&netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 80, 0, 1), Mask: net.CIDRMask(22, 32)}}))
	must(t, netlink.LinkSetUp(bridge))
	shop, db := plug(t, machine, bridge, "shop", "10.80.0.2"), plug(t, machine, bridge, "db", "10.80.0.3")
	listener := in(t, db, machine, func() (net.Listener, error) { return net.Listen("tcp", "10.80.0.3:80") })
	defer listener.Close()

	kernel := netpolicy.System()
	found, err := kernel.Bridge(subnet)
	if err != nil || found.Name != "br0" || found.Index != bridge.Index {
		t.Fatalf("the bridge of %v is %+v, %v", subnet, found, err)
	}
	reaches := func() error {
		_, err := try(t, shop, machine, func() (net.Conn, error) { return net.Dial("tcp", "10.80.0.3:80") })
		return err
	}
	ctx := context.Background()
	must(t, kernel.Apply(ctx, netpolicy.Rules(netpolicy.Input{
		Policy: node.Policy{}, Own: subnet, Bridge: "br0",
		Local: node.Pods{netip.MustParseAddr("10.80.0.2"): "shop", netip.MustParseAddr("10.80.0.3"): "db"},
	})))
	if err := reaches(); err != nil {
		t.Fatalf("a bridge that is not prepared refuses: %v", err)
	}
	must(t, kernel.Prepare(ctx, found))
	if err := reaches(); err == nil || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("across the bridge that was prepared: %v", err)
	}
	for _, setting := range everyBridge {
		if text, err := os.ReadFile(setting); err != nil || strings.TrimSpace(string(text)) != "0" {
			t.Errorf("%s is now %q, %v", setting, text, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// space makes a network namespace, and moves the thread into it.
func space(t *testing.T) netns.NsHandle {
	t.Helper()
	made, err := netns.New()
	must(t, err)
	t.Cleanup(func() { _ = made.Close() })
	return made
}

// plug returns a namespace of its own that is connected to a bridge.
func plug(t *testing.T, machine netns.NsHandle, bridge netlink.Link, name, address string) netns.NsHandle {
	t.Helper()
	own := space(t)
	must(t, netns.Set(machine))
	must(t, netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: name, MasterIndex: bridge.Attrs().Index}, PeerName: "eth0",
		PeerNamespace: netlink.NsFd(int(own)),
	}))
	end, err := netlink.LinkByName(name)
	must(t, err)
	must(t, netlink.LinkSetUp(end))
	in(t, own, machine, func() (any, error) {
		eth0, err := netlink.LinkByName("eth0")
		must(t, err)
		must(t, netlink.AddrAdd(eth0, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(address), Mask: net.CIDRMask(22, 32)}}))
		return nil, netlink.LinkSetUp(eth0)
	})
	return own
}

// try calls a function in another network namespace.
func try[T any](t *testing.T, there, back netns.NsHandle, do func() (T, error)) (T, error) {
	t.Helper()
	must(t, netns.Set(there))
	defer func() { must(t, netns.Set(back)) }()
	return do()
}

// in is try for operations that must not fail.
func in[T any](t *testing.T, there, back netns.NsHandle, do func() (T, error)) T {
	t.Helper()
	made, err := try(t, there, back, do)
	must(t, err)
	return made
}
