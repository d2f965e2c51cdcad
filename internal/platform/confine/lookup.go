package confine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Find returns the addresses of a host, as net.Resolver's LookupNetIP does.
type Find func(ctx context.Context, network, host string) ([]netip.Addr, error)

// Lookup returns those addresses of a host that may be reached. It is for programs that connect by themselves: they
// are given the addresses, so that the name can't lead elsewhere the next time. It returns ErrRefused if none may be
// reached.
func Lookup(ctx context.Context, host string, find Find) (reachable []netip.Addr, err error) {
	found, err := addresses(ctx, host, find)
	if err != nil {
		return nil, err
	}
	for _, address := range found {
		switch checked := Check(address); {
		case checked == nil:
			reachable = append(reachable, address.Unmap())
		case !errors.Is(checked, ErrRefused):
			return nil, checked
		default:
			err = checked
		}
	}
	if len(reachable) > 0 {
		return reachable, nil
	}
	return nil, err
}

// Allow returns an error for a host that has an address which may not be reached, or none. It is for programs that find
// the address themselves, and may take any of them.
func Allow(ctx context.Context, host string, find Find) error {
	found, err := addresses(ctx, host, find)
	if err != nil {
		return err
	}
	for _, address := range found {
		if err := Check(address); err != nil {
			return err
		}
	}
	return nil
}

// addresses returns at least one address of a host.
func addresses(ctx context.Context, host string, find Find) ([]netip.Addr, error) {
	if local(host) {
		return nil, fmt.Errorf("%s %w", host, ErrRefused)
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	found, err := find(ctx, "ip", host)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return found, err
}

// local reports whether a name leads to this machine, or may, whatever is found: some programs read a number as an
// address, such as 127.1 or 0x7f000001.
func local(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	hex, prefixed := strings.CutPrefix(last, "0x")
	number := last != "" && strings.Trim(last, "0123456789") == "" || prefixed && strings.Trim(hex, "0123456789abcdef") == ""
	return number || last == "localhost"
}
