package overlay

import "net/netip"

// system is the network of a machine, as kernel changes it.
type system interface {
	// state returns the present state; bridge is the subnet of the containers of this machine.
	state(bridge netip.Prefix) (State, error)
	// mtu returns the MTU of the interface that has an address. What can't be listed is an error.
	mtu(address netip.Addr) (int, error)
	do(action Action) error
	// fault returns a message about a command or feature that the machine lacks, or "".
	fault(bridged bool) string
	// close removes everything that doesn't outlive this process.
	close()
}
