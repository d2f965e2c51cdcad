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

// Lookup returns the addresses of a host that may be reached, or ErrRefused if none may. Programs that connect by
// themselves get these addresses, so that the name can't resolve to another one later.
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

// Allow returns an error for a host with an address that may not be reached, or without any address. It is for programs
// that resolve the name themselves, and may use any of its addresses.
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

// local reports whether a name is or may be one of this machine, whatever DNS answers: some programs parse a number as
// an address, such as 127.1 or 0x7f000001.
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
