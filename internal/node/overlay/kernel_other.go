//go:build !linux

package overlay

import (
	"errors"
	"net/netip"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// kernel is a machine that can't be in the network.
type kernel struct{}

func newKernel(wgtypes.Key) (*kernel, error) {
	return nil, errors.New("only Linux machines can be in the network between containers")
}

func networks(netip.Prefix) ([]netip.Prefix, error) { return nil, nil }

func (*kernel) close()                            {}
func (*kernel) fault(bool) string                 { return "" }
func (*kernel) mtu(netip.Addr) (int, error)       { return 0, nil }
func (*kernel) state(netip.Prefix) (State, error) { return State{}, nil }
func (*kernel) do(Action) error                   { return nil }
