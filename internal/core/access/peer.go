package access

import "net/netip"

// Peer describes the other end of a TCP connection.
type Peer struct {
	// Address is its address as the kernel has it; the zero value if that is unknown.
	Address netip.Addr
	// Forwarded is set if the request says that a proxy passes it on for another client.
	Forwarded bool
}

// OnThisMachine reports whether the peer is a program of this machine, which alone may use the token in ROOT/token. The
// kernel lets nothing but this machine connect from a loopback address. A container has an address of its own, also on
// this machine, and so has the machine itself in a network.
func (p Peer) OnThisMachine() bool { return p.Address.Unmap().IsLoopback() && !p.Forwarded }
