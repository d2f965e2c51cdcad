package confine

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
)

// TestLookup: only the addresses of other machines are left of a name; one that leads here alone is refused.
func TestLookup(t *testing.T) {
	missing := &net.DNSError{Err: "no such host", IsNotFound: true}
	names := map[string][]string{"inside": {"127.0.0.1"}, "both": {"169.254.169.254", "203.0.113.7", "::ffff:203.0.113.8"}, "outside": {"203.0.113.9"}}
	find := func(_ context.Context, _, host string) (out []netip.Addr, err error) {
		for _, address := range names[host] {
			out = append(out, netip.MustParseAddr(address))
		}
		if len(out) == 0 {
			return nil, missing
		}
		return out, nil
	}
	for host, want := range map[string]struct {
		reason string
		found  []string
		err    error
	}{
		"outside":     {"another machine", []string{"203.0.113.9"}, nil},
		"both":        {"what leads here is left out", []string{"203.0.113.7", "203.0.113.8"}, nil},
		"inside":      {"its owner has it lead here", nil, ErrRefused},
		"LocalHost.":  {"it always leads here", nil, ErrRefused},
		"127.0.0.1":   {"it is written as such", nil, ErrRefused},
		"127.1":       {"some read it as 127.0.0.1", nil, ErrRefused},
		"2130706433":  {"and this", nil, ErrRefused},
		"0X7F000001":  {"and this", nil, ErrRefused},
		"0177.0.0.1":  {"and this", nil, ErrRefused},
		"a.localhost": {"it leads here by definition", nil, ErrRefused},
		"[::1]":       {"brackets are no part of a host", nil, missing},
		"203.0.113.1": {"no name is looked up", []string{"203.0.113.1"}, nil},
		"nowhere":     {"the error is the resolver's", nil, missing},
	} {
		got, err := Lookup(t.Context(), host, find)
		var text []string
		for _, address := range got {
			text = append(text, address.String())
		}
		if !slices.Equal(text, want.found) || !errors.Is(err, want.err) {
			t.Errorf("%s: %v, %v; want %v: %s", host, text, err, want.found, want.reason)
		}
		if host == "both" {
			want.err = ErrRefused // a single address of this machine is enough
		}
		if err := Allow(t.Context(), host, find); !errors.Is(err, want.err) {
			t.Errorf("%s: whoever looks it up again is told %v", host, err)
		}
	}
}
