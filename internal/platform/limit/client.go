package limit

import "net/netip"

// Client returns the key of a client's address, HOST:PORT: one with IPv6 has all addresses of its network.
func Client(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	host := at.Addr().Unmap().WithZone("")
	if host.Is4() {
		return host.String()
	}
	network, _ := host.Prefix(64) // it is valid, and long enough
	return network.String()
}
