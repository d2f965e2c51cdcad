package ingress

import (
	"errors"
	"net"
	"net/netip"

	"github.com/pires/go-proxyproto"
)

// policy accepts the PROXY protocol only from load balancers: any other client could claim any address with it.
func (o ListenOptions) policy(options proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
	from, err := netip.ParseAddrPort(options.Upstream.String())
	if err == nil && o.isBalancer(from.Addr().Unmap()) {
		return proxyproto.USE, nil
	}
	return proxyproto.SKIP, nil
}

// isBalancer reports whether an address is a load balancer's.
func (o ListenOptions) isBalancer(address netip.Addr) bool {
	return oneHas(o.Balancers, address)
}

// manyBehind reports whether many clients connect from one address, which belongs to a proxy or a load balancer.
func (o ListenOptions) manyBehind(address netip.Addr) bool {
	return o.isBalancer(address) || oneHas(o.Trusted, address)
}

// announcing accepts connections on which a load balancer announces the client's address.
type announcing struct{ net.Listener }

// Accept implements net.Listener.
func (a announcing) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	if behind, ok := conn.(*proxyproto.Conn); ok {
		return announced{behind}, err
	}
	return conn, err
}

// announced is a connection that begins with the PROXY protocol.
type announced struct{ *proxyproto.Conn }

// CloseWrite closes the sending side.
func (a announced) CloseWrite() error { return halved(a.Raw()) }

// halved closes the sending side of a connection.
func halved(conn any) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
