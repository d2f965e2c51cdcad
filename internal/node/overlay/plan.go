package overlay

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
)

// Wanted is the desired state. Without a driver, or without a subnet, it is empty.
type Wanted struct {
	node.Network
	// Key is the node's public key, with WireGuard.
	Key string
	// MTU is the MTU of the route to the other nodes, Address the node's address on it.
	MTU     int
	Address netip.Addr
	// Bridged is set if the node's containers have a network: the engine's rules must let its packets through.
	Bridged bool
}

// Device is the device through which packets travel.
type Device struct {
	Driver string
	Port   int
	MTU    int
	// Key is WireGuard's public key, Own the node's address of the overlay, Source where its packets are sent from,
	// with VXLAN.
	Key    string
	Own    netip.Addr
	Source netip.Addr
}

// Path is the path to the containers of a peer.
type Path struct {
	Subnet  netip.Prefix
	Address netip.Addr
	Key     string
}

// Route is a network that the machine reaches otherwise.
type Route struct {
	To     netip.Prefix
	Device string
}

// State is the present state.
type State struct {
	// Device is nil if there is none.
	Device *Device
	// Paths holds the complete paths, and the incomplete ones without an address.
	Paths map[netip.Prefix]Path
	// Permitted is the subnet for which the engine's rules have exceptions; invalid without exceptions.
	Permitted netip.Prefix
	Others    []Route
}

// Action is a step towards the desired state.
type Action struct {
	Do     Step
	Device Device
	Path   Path
}

// Step is the kind of an Action.
type Step string

// The steps.
const (
	RemoveDevice Step = "remove device"
	CreateDevice Step = "create device"
	Disconnect   Step = "disconnect"
	Connect      Step = "connect"
	Forbid       Step = "forbid"
	Permit       Step = "permit"
)

func (a Action) String() string {
	switch a.Do {
	case CreateDevice:
		return fmt.Sprintf("%s %s at %s, port %d, MTU %d", a.Do, a.Device.Driver, a.Device.Own, a.Device.Port, a.Device.MTU)
	case RemoveDevice:
		return string(a.Do)
	case Connect:
		return fmt.Sprintf("%s %s by %s", a.Do, a.Path.Subnet, a.Path.Address)
	}
	return fmt.Sprintf("%s %s", a.Do, a.Path.Subnet)
}

// headers is the size of each packet's part that a driver needs for itself: the outer headers, over IPv4.
var headers = map[string]int{api.DriverWireGuard: 60, api.DriverVXLAN: 50}

// Plan returns the actions that lead from the observed to the desired state, and for each peer that can't be connected
// the reason.
func Plan(wanted Wanted, state State) (actions []Action, faults []string) {
	if wanted.Driver == "" || !wanted.Subnet.IsValid() {
		return remove(state), nil
	}
	device := deviceOf(wanted)
	if state.Device != nil && *state.Device != device {
		actions, state.Device, state.Paths = append(actions, Action{Do: RemoveDevice}), nil, nil
	}
	if state.Device == nil {
		actions = append(actions, Action{Do: CreateDevice, Device: device})
	}
	paths, faults := pathsOf(wanted, state.Others)
	for _, is := range sorted(state.Paths) {
		if _, stays := paths[is.Subnet]; !stays {
			actions = append(actions, Action{Do: Disconnect, Path: is})
		}
	}
	for _, path := range sorted(paths) {
		if state.Paths[path.Subnet] != path {
			actions = append(actions, Action{Do: Connect, Path: path})
		}
	}
	return append(actions, permissions(wanted, state)...), faults
}

// remove returns the actions that remove everything.
func remove(state State) (actions []Action) {
	if state.Device != nil {
		actions = append(actions, Action{Do: RemoveDevice})
	}
	if state.Permitted.IsValid() {
		actions = append(actions, Action{Do: Forbid, Path: Path{Subnet: state.Permitted}})
	}
	return actions
}

func permissions(wanted Wanted, state State) (actions []Action) {
	var subnet netip.Prefix
	if wanted.Bridged {
		subnet = wanted.Subnet
	}
	if state.Permitted == subnet {
		return nil
	}
	if state.Permitted.IsValid() {
		actions = append(actions, Action{Do: Forbid, Path: Path{Subnet: state.Permitted}})
	}
	if subnet.IsValid() {
		actions = append(actions, Action{Do: Permit, Path: Path{Subnet: subnet}})
	}
	return actions
}

func deviceOf(wanted Wanted) Device {
	device := Device{Driver: wanted.Driver, Port: wanted.Port, MTU: wanted.MTU - headers[wanted.Driver],
		Own: wanted.Subnet.Masked().Addr()}
	if wanted.Address.Is6() {
		device.MTU -= 20
	}
	if wanted.Driver == api.DriverWireGuard {
		device.Key = wanted.Key
	} else {
		device.Source = wanted.Address
	}
	return device
}

// pathsOf returns the path to each peer. It leaves out peers whose subnet this machine reaches by another route, and
// those that can't encrypt.
func pathsOf(wanted Wanted, others []Route) (map[netip.Prefix]Path, []string) {
	paths := map[netip.Prefix]Path{}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(wanted.Peers)) {
		peer := wanted.Peers[name]
		at := slices.IndexFunc(others, func(r Route) bool { return r.To.Overlaps(peer.Subnet) })
		switch {
		case !boundary.Private(peer.Subnet):
			faults = append(faults, fmt.Sprintf("node %s has %s, which is not a private network", name, peer.Subnet))
		case at >= 0:
			faults = append(faults, fmt.Sprintf("node %s has %s, which overlaps %s of this machine (%s)", name, peer.Subnet,
				others[at].Device, others[at].To))
		case wanted.Driver == api.DriverWireGuard && peer.Key == "":
			faults = append(faults, fmt.Sprintf("node %s has no key yet", name))
		case wanted.Driver == api.DriverWireGuard:
			paths[peer.Subnet] = Path{Subnet: peer.Subnet, Address: peer.Address, Key: peer.Key}
		default:
			paths[peer.Subnet] = Path{Subnet: peer.Subnet, Address: peer.Address}
		}
	}
	return paths, faults
}

func sorted(paths map[netip.Prefix]Path) []Path {
	return slices.SortedFunc(maps.Values(paths), func(a, b Path) int {
		return cmp.Or(a.Subnet.Addr().Compare(b.Subnet.Addr()), cmp.Compare(a.Subnet.Bits(), b.Subnet.Bits()))
	})
}
