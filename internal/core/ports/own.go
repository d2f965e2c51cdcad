package ports

import (
	"net/netip"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// Listener is one of Tend's own on a node.
type Listener struct {
	Port
	// For says who it serves, as in "for other nodes"; Change names the flag, or the field, that moves it.
	For, Change string
}

// ListenerAt returns the TCP listener at an address, or at a URL; none if that names no port, such as off. A host that
// is a name may be every address.
func ListenerAt(address, purpose, change string) []Listener {
	host, number := split(address)
	if number == 0 {
		return nil
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		ip = netip.IPv4Unspecified()
	}
	return []Listener{{Port{IP: ip.Unmap(), Number: number, Protocol: api.ProtocolTCP}, purpose, change}}
}

// split returns the host and the port of an address, or of a URL; port 0 if it names none.
func split(address string) (host string, port int) {
	if _, after, isURL := strings.Cut(address, "://"); isURL {
		address = after
	}
	last := strings.LastIndexByte(address, ':')
	if number, err := strconv.Atoi(address[last+1:]); err == nil && number > 0 {
		return address[:max(last, 0)], number
	}
	return "", 0
}

// Taken returns the first port that a container of a spec would occupy though Tend listens there itself.
func Taken(spec api.DeploymentSpec, own []Listener) (port Port, by Listener, taken bool) {
	for _, port := range Fixed(spec) {
		for _, by := range own {
			if port.Clashes(by.Port) {
				return port, by, true
			}
		}
	}
	return Port{}, Listener{}, false
}
