package overlay

import (
	"errors"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tend.dev/tend/api"
)

// vni is the VXLAN network identifier.
const vni = 8686

// hardware derives a MAC address from the node's address, so the nodes don't have to exchange MAC addresses.
func hardware(own netip.Addr) net.HardwareAddr {
	ip := own.As4()
	return net.HardwareAddr{0x02, 0x74, ip[0], ip[1], ip[2], ip[3]}
}

func (k *kernel) observeVXLAN(s *State, link *netlink.Vxlan) error {
	own, err := address(link)
	if err != nil {
		return err
	}
	source, _ := netip.AddrFromSlice(link.SrcAddr)
	s.Device = &Device{Driver: api.DriverVXLAN, Port: link.Port, MTU: link.Attrs().MTU, Own: own, Source: source.Unmap()}
	routes, err := routed(link)
	if err != nil {
		return err
	}
	neighbours, err := netlink.NeighList(link.Attrs().Index, netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	forwards, err := netlink.NeighList(link.Attrs().Index, unix.AF_BRIDGE)
	if err != nil {
		return err
	}
	known, sent := map[string]bool{}, map[string]netip.Addr{}
	for _, n := range neighbours {
		known[n.IP.String()+n.HardwareAddr.String()] = n.State&netlink.NUD_PERMANENT != 0
	}
	for _, f := range forwards {
		to, _ := netip.AddrFromSlice(f.IP)
		sent[f.HardwareAddr.String()] = to.Unmap()
	}
	for subnet := range routes {
		mac := hardware(subnet.Addr()).String()
		path := Path{Subnet: subnet}
		if known[subnet.Addr().String()+mac] {
			path.Address = sent[mac]
		}
		s.Paths[subnet] = path
	}
	return nil
}

func (k *kernel) pathVXLAN(link *netlink.Vxlan, action Action) error {
	first := action.Path.Subnet.Addr()
	neighbour := &netlink.Neigh{
		LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, Family: netlink.FAMILY_V4, IP: first.AsSlice(),
		HardwareAddr: hardware(first),
	}
	forward := &netlink.Neigh{
		LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT | netlink.NUD_NOARP, Family: unix.AF_BRIDGE,
		Flags: netlink.NTF_SELF, IP: action.Path.Address.AsSlice(), HardwareAddr: hardware(first),
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: network(action.Path.Subnet), Gw: first.AsSlice(),
		Flags: int(netlink.FLAG_ONLINK)}
	if action.Do == Disconnect {
		return errors.Join(gone(netlink.RouteDel(route)), gone(netlink.NeighDel(neighbour)), gone(netlink.NeighDel(forward)))
	}
	return errors.Join(netlink.NeighSet(neighbour), netlink.NeighSet(forward), netlink.RouteReplace(route))
}

// gone treats the error that something doesn't exist as a successful removal.
func gone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EADDRNOTAVAIL) {
		return nil
	}
	return err
}
