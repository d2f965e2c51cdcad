package overlay

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
)

// TestTheMTUIsThatOfTheAddress: what a list lacks, and what can't be read, is not known.
func TestTheMTUIsThatOfTheAddress(t *testing.T) {
	interrupted, gone := errors.New("interrupted"), errors.New("gone")
	listed := []netlink.Addr{{IPNet: &net.IPNet{IP: net.IPv4(192, 0, 2, 1)}, LinkIndex: 7},
		{IPNet: &net.IPNet{IP: net.IPv4(192, 0, 2, 2)}, LinkIndex: 8}}
	for name, tc := range map[string]struct {
		reason, address string
		incomplete      error
		want            int
		err             error
	}{
		"there":              {"it is its interface's", "192.0.2.1", nil, 9000, nil},
		"there, interrupted": {"what the list has is right", "192.0.2.1", interrupted, 9000, nil},
		"elsewhere":          {"no interface has it", "192.0.2.3", nil, ethernet, nil},
		"unlisted":           {"an interface may have it", "192.0.2.3", interrupted, ethernet, interrupted},
		"without its link":   {"it goes at this moment", "192.0.2.2", nil, 0, gone},
	} {
		got, err := mtuOf(netip.MustParseAddr(tc.address), listed, tc.incomplete, func(index int) (netlink.Link, error) {
			if index != 7 {
				return nil, gone
			}
			return &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{MTU: 9000}}, nil
		})
		if got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: %s: %d, %v", name, tc.reason, got, err)
		}
	}
}
