//go:build !linux

package netpolicy

import (
	"context"
	"errors"
	"net/netip"
)

// nftables is a machine that can't keep containers apart.
type nftables struct{}

// System returns the kernel of this machine.
func System() Kernel { return nftables{} }

func (nftables) Prepare(context.Context, Bridge) error {
	return errors.New("only Linux machines can keep scopes apart")
}
func (nftables) Bridge(netip.Prefix) (Bridge, error)  { return Bridge{}, nil }
func (nftables) List(context.Context) (string, error) { return "", nil }
func (nftables) Apply(context.Context, string) error  { return nil }
func (nftables) Remove(context.Context) error         { return nil }
