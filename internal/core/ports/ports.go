package ports

import (
	"net/netip"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
)

// Port is one port of the host that only one container can have.
type Port struct {
	// IP is the host's address; the unspecified one means every address.
	IP     netip.Addr
	Number int
	// Protocol is tcp, udp or sctp.
	Protocol string
	// Field is the part of the spec that fixes it: ports[0], docker_options.
	Field string
	// Entry is the entry of `ports` that fixes it, as it was declared; empty for other fields.
	Entry string
}

// String returns address:port/protocol.
func (p Port) String() string {
	return netip.AddrPortFrom(p.IP, uint16(p.Number)).String() + "/" + p.Protocol
}

// Unfixed returns the entry of `ports` without the host's port, so that the engine chooses one; empty if there is no
// entry.
func (p Port) Unfixed() string {
	last := strings.LastIndexByte(p.Entry, ':')
	if last < 0 {
		return ""
	}
	before, container := p.Entry[:last], p.Entry[last+1:]
	if cut := strings.LastIndexByte(before, ':'); cut >= 0 && !strings.HasSuffix(before, "]") {
		return before[:cut+1] + container
	}
	return container
}

// Address returns the host's address; empty for every address.
func (p Port) Address() string {
	if p.IP.IsUnspecified() {
		return ""
	}
	return p.IP.String()
}

// Clashes reports whether p and other can't be published at the same time. Every address includes each single one.
func (p Port) Clashes(other Port) bool {
	return p.Number == other.Number && p.Protocol == other.Protocol &&
		(p.IP == other.IP || p.IP.IsUnspecified() || other.IP.IsUnspecified())
}

// Fixed returns the ports of the host that each container of a spec occupies, from `ports` and from docker_options. An
// entry without a host port, or with a range to choose one from, fixes none. A container without a network of its own
// publishes none. Malformed entries are left to validation.
func Fixed(spec api.DeploymentSpec) []Port {
	options, err := dockerflags.Of(spec)
	if err != nil {
		options = dockerflags.Options{}
	}
	if !publishes(spec.NetworkMode) || !publishes(options.NetworkMode) {
		return nil
	}
	var out []Port
	for i, entry := range spec.Ports {
		if parsed, err := api.NormalizePort(entry); err == nil {
			out = append(out, fixedBy(parsed, "ports["+strconv.Itoa(i)+"]", entry)...)
		}
	}
	for _, parsed := range options.Publish {
		out = append(out, fixedBy(parsed, "docker_options", "")...)
	}
	return out
}

// Listened returns the port of all hosts at which proxies listen for an ingress; none if it has a host instead.
func Listened(object api.Object) []Port {
	spec, err := api.DecodeSpec[api.IngressSpec](object)
	if err != nil {
		return nil
	}
	return ListenedBy(spec)
}

// ListenedBy is Listened for the spec of an ingress.
func ListenedBy(spec api.IngressSpec) []Port {
	at := spec.ListensAt()
	if at.Port == 0 {
		return nil
	}
	ip := at.IP
	if !ip.IsValid() {
		ip = netip.IPv4Unspecified()
	}
	return []Port{{IP: ip, Number: at.Port, Protocol: at.Protocol, Field: "listen"}}
}

// OfNetwork returns the port at which every node takes the packets of the network between nodes.
func OfNetwork(object api.Object) []Port {
	spec, err := api.DecodeSpec[api.NetworkSpec](object)
	if err != nil {
		return nil
	}
	return []Port{{IP: netip.IPv4Unspecified(), Number: spec.WithDefaults().Port, Protocol: api.ProtocolUDP, Field: "port"}}
}

// publishes reports whether the engine publishes ports in a network mode: not in that of the host, of another
// container, or in none.
func publishes(mode string) bool { return mode == "" || mode == "bridge" || mode == "default" }

// fixedBy returns the ports of one entry. The engine chooses one if the host's range isn't as long as the container's.
func fixedBy(entry api.PortSpec, field, written string) []Port {
	if entry.Host.Len() != entry.Container.Len() {
		return nil
	}
	ip, err := netip.ParseAddr(entry.HostIP)
	if err != nil {
		ip = netip.IPv4Unspecified()
	}
	var out []Port
	for port := entry.Host.First; port <= entry.Host.Last; port++ {
		out = append(out, Port{IP: ip, Number: port, Protocol: entry.Protocol, Field: field, Entry: written})
	}
	return out
}
