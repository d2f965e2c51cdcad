package limit

import "net/netip"

// Client returns the key of a client's address, HOST:PORT. All IPv6 addresses of one network share a key.
func Client(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	host := at.Addr().Unmap().WithZone("")
	if host.Is4() {
		return host.String()
	}
	network, _ := host.Prefix(64) // an IPv6 address always has 64 bits of network
	return network.String()
}
