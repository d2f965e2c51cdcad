package api

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Loopback is the address a published port is bound to when its entry names none.
const Loopback = "127.0.0.1"

// PortRange is one port or several in a row. The zero value, as a host's range, lets the engine choose.
type PortRange struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Len returns the number of ports in the range; 0 for the zero value.
func (r PortRange) Len() int {
	if r.First == 0 {
		return 0
	}
	return r.Last - r.First + 1
}

// String is "80" or "80-89"; empty for the zero value.
func (r PortRange) String() string {
	switch {
	case r.First == 0:
		return ""
	case r.First == r.Last:
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// PortSpec is one published port, or range of ports, with every part named.
type PortSpec struct {
	// HostIP is the address bound to, without brackets; empty is every address.
	HostIP string `json:"host_ip,omitempty"`
	// Host is the port on the host; zero lets the engine choose. It is as long as Container, or Container is one port
	// and the engine takes a free one of Host.
	Host      PortRange `json:"host,omitzero"`
	Container PortRange `json:"container"`
	// Protocol is tcp, udp or sctp.
	Protocol string `json:"protocol"`
}

// String is the normal form: ip:host:container/protocol, "127.0.0.1::80/tcp" where the engine chooses.
func (p PortSpec) String() string {
	address := p.HostIP
	if strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	return address + ":" + p.Host.String() + ":" + p.Container.String() + "/" + p.Protocol
}

// NormalizePort reads an entry of `ports`:
//
//	80                    a port of loopback that the engine chooses → 80
//	3000:80               127.0.0.1:3000 → 80
//	0.0.0.0:80            a port of that address that the engine chooses → 80
//	127.0.0.1::80         the same, as docker writes it
//	0.0.0.0:3000:80       all three parts
//	[::1]:3000:80         an IPv6 address is written in brackets
//
// each with /tcp, /udp or /sctp behind it, and with ranges (3000-3009:80-89) for ports.
func NormalizePort(entry string) (PortSpec, error) {
	return ParsePort(entry, Loopback)
}

// ParsePort is NormalizePort for another default address; empty means every address, as `docker run -p` has it.
func ParsePort(entry, defaultIP string) (PortSpec, error) {
	p := PortSpec{Protocol: "tcp", HostIP: defaultIP}
	rest, protocol, found := strings.Cut(entry, "/")
	if found {
		p.Protocol = strings.ToLower(protocol)
		if p.Protocol != "tcp" && p.Protocol != "udp" && p.Protocol != "sctp" {
			return PortSpec{}, fmt.Errorf("protocol %q is not tcp, udp or sctp", protocol)
		}
	}
	address, host, container, err := splitPort(rest)
	if err != nil {
		return PortSpec{}, err
	}
	if address != "" {
		if p.HostIP, err = canonicalIP(address); err != nil {
			return PortSpec{}, err
		}
	}
	if p.Container, err = parsePortRange(container); err != nil {
		return PortSpec{}, fmt.Errorf("container port: %w", err)
	}
	if host != "" && host != "0" {
		if p.Host, err = parsePortRange(host); err != nil {
			return PortSpec{}, fmt.Errorf("host port: %w", err)
		}
	}
	if n := p.Host.Len(); n != 0 && n != p.Container.Len() && p.Container.Len() != 1 {
		return PortSpec{}, fmt.Errorf("host range %s and container range %s differ in length", p.Host, p.Container)
	}
	return p, nil
}

// splitPort takes address, host port and container port apart. An entry of two parts whose first is an address has no
// host port.
func splitPort(text string) (address, host, container string, err error) {
	if strings.HasPrefix(text, "[") {
		end := strings.Index(text, "]")
		if end < 0 || !strings.HasPrefix(text[end+1:], ":") {
			return "", "", "", fmt.Errorf("an IPv6 address is written [address]:host:container")
		}
		address = text[1:end]
		text = text[end+2:]
		if host, container, found := strings.Cut(text, ":"); found {
			return address, host, container, nil
		}
		return address, "", text, nil
	}
	parts := strings.Split(text, ":")
	switch len(parts) {
	case 1:
		return "", "", parts[0], nil
	case 2:
		if strings.Contains(parts[0], ".") {
			return parts[0], "", parts[1], nil
		}
		if parts[0] == "" {
			return "", "", "", fmt.Errorf("the part before %q is empty", ":"+parts[1])
		}
		return "", parts[0], parts[1], nil
	case 3:
		return parts[0], parts[1], parts[2], nil
	}
	return "", "", "", fmt.Errorf("more than three parts; write an IPv6 address in brackets: [::1]:3000:80")
}

func canonicalIP(text string) (string, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return "", fmt.Errorf("%q is not an IP address", text)
	}
	return addr.String(), nil
}

func parsePortRange(text string) (PortRange, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err := parsePortNumber(first)
	if err != nil {
		return PortRange{}, err
	}
	to, err := parsePortNumber(last)
	if err != nil {
		return PortRange{}, err
	}
	if to < from {
		return PortRange{}, fmt.Errorf("range %q runs backwards", text)
	}
	return PortRange{First: from, Last: to}, nil
}

func parsePortNumber(text string) (int, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a port number", text)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%s is outside 1 to 65535", text)
	}
	return n, nil
}
