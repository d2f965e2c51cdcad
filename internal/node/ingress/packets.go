package ingress

import (
	"errors"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/portowner"
)

// flow is a client of a UDP port, and the address of this machine that it sent to: the client only accepts answers from
// there.
type flow struct {
	client netip.AddrPort
	at     netip.Addr
	link   int // of an address that is the link's alone, the interface
}

// packets is a socket that reports the local address of each datagram.
type packets interface {
	read(into []byte) (int, flow, error)
	write(datagram []byte, to flow) error
	LocalAddr() net.Addr
	Close() error
}

// listenPackets opens the sockets of a port. A port on every address has one for each family that the machine supports.
func listenPackets(at api.Listen) ([]packets, error) {
	families := []string{"udp4", "udp6"}
	if at.IP.IsValid() {
		families = []string{"udp"}
	}
	var out []packets
	for _, family := range families {
		address, err := net.ResolveUDPAddr(family, at.Address())
		if err == nil {
			var conn *net.UDPConn
			if conn, err = net.ListenUDP(family, address); err == nil {
				var socket packets
				if socket, err = packetsOf(conn, family == "udp6" || at.IP.Is6()); err == nil {
					out = append(out, socket)
					continue
				}
				_ = conn.Close()
			}
		}
		if family == "udp6" && (errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL)) {
			continue // the machine has no IPv6
		}
		for _, socket := range out {
			_ = socket.Close()
		}
		return nil, portowner.Named(err)
	}
	return out, nil
}

func packetsOf(conn *net.UDPConn, six bool) (packets, error) {
	if six {
		wrapped := ipv6.NewPacketConn(conn)
		return packets6{wrapped}, wrapped.SetControlMessage(ipv6.FlagDst|ipv6.FlagInterface, true)
	}
	wrapped := ipv4.NewPacketConn(conn)
	return packets4{wrapped}, wrapped.SetControlMessage(ipv4.FlagDst, true)
}

type packets4 struct{ *ipv4.PacketConn }

func (p packets4) read(into []byte) (int, flow, error) {
	n, control, from, err := p.ReadFrom(into)
	if err != nil {
		return 0, flow{}, err
	}
	out := flow{client: from.(*net.UDPAddr).AddrPort()}
	if control != nil {
		out.at, _ = netip.AddrFromSlice(control.Dst.To4())
	}
	return n, out, nil
}

func (p packets4) write(datagram []byte, to flow) error {
	var control *ipv4.ControlMessage
	if to.at.IsValid() && !to.at.IsMulticast() && to.at != netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		control = &ipv4.ControlMessage{Src: to.at.AsSlice()}
	}
	_, err := p.WriteTo(datagram, control, net.UDPAddrFromAddrPort(to.client))
	return err
}

type packets6 struct{ *ipv6.PacketConn }

func (p packets6) read(into []byte) (int, flow, error) {
	n, control, from, err := p.ReadFrom(into)
	if err != nil {
		return 0, flow{}, err
	}
	out := flow{client: from.(*net.UDPAddr).AddrPort()}
	if control != nil {
		if out.at, _ = netip.AddrFromSlice(control.Dst); out.at.IsLinkLocalUnicast() {
			out.link = control.IfIndex
		}
	}
	return n, out, nil
}

func (p packets6) write(datagram []byte, to flow) error {
	var control *ipv6.ControlMessage
	if to.at.IsValid() && !to.at.IsMulticast() {
		control = &ipv6.ControlMessage{Src: to.at.AsSlice(), IfIndex: to.link}
	}
	_, err := p.WriteTo(datagram, control, net.UDPAddrFromAddrPort(to.client))
	return err
}
