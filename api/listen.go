package api

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// The protocols of Listen.
const (
	ProtocolTCP = "tcp"
	ProtocolUDP = "udp"
)

// Listen is a port at which the proxies of all nodes listen. The zero value means no port.
type Listen struct {
	// IP is the address that it is bound to; invalid for every address.
	IP   netip.Addr
	Port int
	// Protocol is tcp or udp.
	Protocol string
}

// ParseListen reads the field listen of an ingress:
//
//	5432              every address, TCP
//	53/udp            every address, UDP
//	10.0.0.1:5432     one address; an IPv6 address is written in brackets: [::1]:5432
func ParseListen(text string) (Listen, error) {
	rest, protocol, named := strings.Cut(text, "/")
	if !named {
		protocol = ProtocolTCP
	}
	out := Listen{Protocol: strings.ToLower(protocol)}
	if out.Protocol != ProtocolTCP && out.Protocol != ProtocolUDP {
		return Listen{}, fmt.Errorf("%q: the protocol is tcp or udp", text)
	}
	number := rest
	if strings.Contains(rest, ":") {
		host, port, err := net.SplitHostPort(rest)
		if err != nil {
			return Listen{}, fmt.Errorf("%q is not a port such as 5432, 53/udp, 10.0.0.1:5432 or [::1]:5432", text)
		}
		number = port
		if host != "" {
			ip, err := netip.ParseAddr(host)
			if err != nil || ip.Zone() != "" {
				return Listen{}, fmt.Errorf("%q: %q is not an IP address", text, host)
			}
			if !ip.IsUnspecified() {
				out.IP = ip.Unmap()
			}
		}
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 {
		return Listen{}, fmt.Errorf("%q: a port is a number from 1 to 65535", text)
	}
	out.Port = int(port)
	return out, nil
}

// Address returns the address for a listener: ":5432", or "10.0.0.1:5432".
func (l Listen) Address() string {
	host := ""
	if l.IP.IsValid() {
		host = l.IP.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(l.Port))
}

// String is the normal form: "5432/tcp", or "10.0.0.1:5432/tcp".
func (l Listen) String() string { return strings.TrimPrefix(l.Address(), ":") + "/" + l.Protocol }

// URL returns the address for clients: "tcp://*:5432" for every address of each node.
func (l Listen) URL() string {
	host := "*"
	if l.IP.IsValid() {
		host = l.IP.String()
	}
	return l.Protocol + "://" + net.JoinHostPort(host, strconv.Itoa(l.Port))
}
