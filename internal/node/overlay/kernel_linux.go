package overlay

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tend.dev/tend/api"
)

// kernel is the network of this machine: the device, its routes, and the engine's rules.
type kernel struct {
	key    wgtypes.Key
	tunnel tunnel // nil without a device of WireGuard
	rules  *rules
}

// newKernel returns the kernel; key is the node's private key of WireGuard.
func newKernel(key wgtypes.Key) (*kernel, error) {
	return &kernel{key: key, rules: &rules{}}, nil
}

func (k *kernel) fault(bridged bool) string { return k.rules.fault(bridged) }

func (k *kernel) close() {
	if k.tunnel != nil {
		k.tunnel.close()
	}
}

// ethernet is the MTU that counts if no interface has the address, as behind an address translation.
const ethernet = 1500

func (k *kernel) mtu(address netip.Addr) (int, error) {
	listed, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	mtu, err := mtuOf(address, listed, err, netlink.LinkByIndex)
	if err != nil {
		return 0, fmt.Errorf("find the MTU of %s: %w", address, err)
	}
	return mtu, nil
}

// mtuOf looks for an address in a list, which the error says may be incomplete: another MTU replaces the device.
func mtuOf(
	address netip.Addr, listed []netlink.Addr, incomplete error, linkBy func(index int) (netlink.Link, error),
) (int, error) {
	at := slices.IndexFunc(listed, func(a netlink.Addr) bool { return a.IP.Equal(address.AsSlice()) })
	if at < 0 {
		return ethernet, incomplete
	}
	link, err := linkBy(listed[at].LinkIndex)
	if err != nil {
		return 0, err
	}
	return link.Attrs().MTU, nil
}

// state observes; the route to the containers' own subnet is not another's.
func (k *kernel) state(bridge netip.Prefix) (State, error) {
	s := State{Paths: map[netip.Prefix]Path{}}
	var err error
	if s.Permitted, err = k.rules.permitted(); err != nil {
		return s, err
	}
	link, err := netlink.LinkByName(deviceName)
	if _, ok := errors.AsType[netlink.LinkNotFoundError](err); ok {
		link, err = nil, nil
	}
	if err != nil {
		return s, err
	}
	if s.Others, err = others(link, bridge); err != nil || link == nil {
		return s, err
	}
	if vxlan, ok := link.(*netlink.Vxlan); ok {
		err = k.observeVXLAN(&s, vxlan)
	} else {
		err = k.observeWireGuard(&s, link)
	}
	return s, err
}

// others lists the networks that the machine reaches neither through the device nor through its containers' network.
func others(device netlink.Link, bridge netip.Prefix) (out []Route, err error) {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, err
	}
	for _, route := range routes {
		to, ok := prefixOf(route.Dst)
		if !ok || to.Bits() == 0 || to == bridge || device != nil && route.LinkIndex == device.Attrs().Index {
			continue
		}
		name := fmt.Sprint("interface ", route.LinkIndex)
		if link, err := netlink.LinkByIndex(route.LinkIndex); err == nil {
			name = link.Attrs().Name
		}
		out = append(out, Route{To: to, Device: name})
	}
	return out, nil
}

// networks lists the networks that the machine reaches other than through its containers' own.
func networks(bridge netip.Prefix) ([]netip.Prefix, error) {
	routes, err := others(nil, bridge)
	return taken(routes), err
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	address, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(address.Unmap(), bits), ok
}

func network(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// address returns the overlay's address of a device that is up; invalid otherwise.
func address(link netlink.Link) (netip.Addr, error) {
	if link.Attrs().Flags&net.FlagUp == 0 {
		return netip.Addr{}, nil
	}
	addresses, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil || len(addresses) != 1 {
		return netip.Addr{}, err
	}
	is, _ := netip.AddrFromSlice(addresses[0].IP)
	return is.Unmap(), nil
}

// routed lists the subnets that are routed to the device.
func routed(link netlink.Link) (map[netip.Prefix]bool, error) {
	routes, err := netlink.RouteList(link, netlink.FAMILY_V4)
	out := map[netip.Prefix]bool{}
	for _, route := range routes {
		if to, ok := prefixOf(route.Dst); ok {
			out[to] = true
		}
	}
	return out, err
}

// do performs one action.
func (k *kernel) do(action Action) error {
	switch action.Do {
	case RemoveDevice:
		return k.removeDevice()
	case CreateDevice:
		return k.createDevice(action.Device)
	case Permit:
		return k.rules.permit(action.Path.Subnet)
	case Forbid:
		return k.rules.forbid(action.Path.Subnet)
	}
	link, err := netlink.LinkByName(deviceName)
	if err != nil {
		return err
	}
	if vxlan, ok := link.(*netlink.Vxlan); ok {
		return k.pathVXLAN(vxlan, action)
	}
	return k.pathWireGuard(link, action)
}

func (k *kernel) removeDevice() error {
	if k.tunnel != nil {
		k.tunnel.close()
		k.tunnel = nil
	}
	link, err := netlink.LinkByName(deviceName)
	if _, ok := errors.AsType[netlink.LinkNotFoundError](err); ok {
		return nil
	}
	if err != nil {
		return err
	}
	return netlink.LinkDel(link)
}

func (k *kernel) createDevice(d Device) error {
	var err error
	if d.Driver == api.DriverVXLAN {
		err = netlink.LinkAdd(&netlink.Vxlan{
			LinkAttrs: netlink.LinkAttrs{Name: deviceName, MTU: d.MTU, HardwareAddr: hardware(d.Own)},
			VxlanId:   vni, Port: d.Port, SrcAddr: d.Source.AsSlice(), Learning: false,
		})
	} else {
		k.tunnel, err = openTunnel(deviceName, d, k.key)
	}
	if err != nil {
		return fmt.Errorf("create the device %s: %w", deviceName, err)
	}
	link, err := netlink.LinkByName(deviceName)
	if err != nil {
		return err
	}
	own := &netlink.Addr{IPNet: network(netip.PrefixFrom(d.Own, 32))}
	return errors.Join(netlink.AddrReplace(link, own), netlink.LinkSetUp(link))
}

func (k *kernel) observeWireGuard(s *State, link netlink.Link) error {
	if k.tunnel == nil {
		tunnel, err := adoptTunnel(link)
		if err != nil {
			return err
		}
		k.tunnel = tunnel
	}
	own, err := address(link)
	if err != nil {
		return err
	}
	key, port, paths, err := k.tunnel.state()
	if err != nil {
		return err
	}
	s.Device = &Device{Driver: api.DriverWireGuard, Port: port, MTU: link.Attrs().MTU, Key: key, Own: own}
	routes, err := routed(link)
	if err != nil {
		return err
	}
	for subnet := range routes {
		s.Paths[subnet] = Path{Subnet: subnet}
	}
	for _, path := range paths {
		if !routes[path.Subnet] {
			path.Address = netip.Addr{}
		}
		s.Paths[path.Subnet] = path
	}
	return nil
}

func (k *kernel) pathWireGuard(link netlink.Link, action Action) error {
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: network(action.Path.Subnet), Scope: netlink.SCOPE_LINK}
	if action.Do == Disconnect {
		return errors.Join(gone(netlink.RouteDel(route)), k.tunnel.disconnect(action.Path))
	}
	return errors.Join(k.tunnel.connect(action.Path), netlink.RouteReplace(route))
}
