package confine

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
)

// Find returns the addresses of a host, as net.Resolver's LookupNetIP does.
type Find func(ctx context.Context, network, host string) ([]netip.Addr, error)

// Lookup returns those addresses of a host that may be reached. It is for programs that connect by themselves: they
// are given the addresses, so that the name can't lead elsewhere the next time. It returns ErrRefused if none may be
// reached.
func Lookup(ctx context.Context, host string, find Find) (reachable []netip.Addr, err error) {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return nil, fmt.Errorf("%s %w", host, ErrRefused)
	}
	address, parsed := netip.ParseAddr(host)
	found := []netip.Addr{address}
	if parsed != nil {
		if found, err = find(ctx, "ip", host); err != nil {
			return nil, err
		}
	}
	for _, address := range found {
		if err = Check(address); err == nil {
			reachable = append(reachable, address.Unmap())
		}
	}
	if len(reachable) > 0 {
		return reachable, nil
	}
	return nil, err
}
