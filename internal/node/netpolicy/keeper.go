package netpolicy

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"tend.dev/tend/api/node"
)

// Bridge is the interface that the containers of a machine share. One that is created again has another index.
type Bridge struct {
	Name  string
	Index int
}

// Kernel enforces the rules.
type Kernel interface {
	// Prepare makes the kernel pass the packets between the containers of a bridge to the rules.
	Prepare(ctx context.Context, bridge Bridge) error
	// Bridge returns the interface that has a subnet; zero if none has. What can't be listed is an error.
	Bridge(subnet netip.Prefix) (Bridge, error)
	// List returns the current table, or "".
	List(ctx context.Context) (string, error)
	// Apply runs a script of Rules atomically; Remove removes the table if there is one.
	Apply(ctx context.Context, script string) error
	Remove(ctx context.Context) error
}

// Options are the options of a Keeper. All but Changed are required.
type Options struct {
	// Network returns the desired network, Pods the addresses of other nodes' containers, Local those of this machine's;
	// Local needs no server.
	Network func() node.Network
	Pods    func() map[string]node.Pods
	Local   func(context.Context) (node.Pods, error)
	// Subnet returns the subnet of the containers' network, invalid if there is none yet.
	Subnet func(context.Context) (netip.Prefix, error)
	// Used reports whether there is or was a network: rules may be left.
	Used func() bool
	// Synced is closed when Network and Pods are complete. Until then the state in File counts: the agent may have started
	// without a server.
	Synced <-chan struct{}
	// While Hold is open, the state in File counts as well: what the servers say may be of an older store.
	Hold   <-chan struct{}
	File   string
	Kernel Kernel
	// Changed is called when the result of Fault changes.
	Changed func()
	Logger  *slog.Logger
}

// Keeper keeps the rules of this machine as they should be. Create it with New, and Run it.
type Keeper struct {
	Options
	wake  chan struct{}
	fault atomic.Pointer[string]

	subnet     netip.Prefix
	given      node.Network // the network for which subnet was read, reduced to the fields that matter
	bridge     Bridge       // that was prepared last
	applied    string       // the script that made the table
	listed     string       // the table as it was listed then; empty if unknown
	remembered memory
	kept       kept
}

// New returns a Keeper.
func New(o Options) *Keeper { return &Keeper{Options: o, wake: make(chan struct{}, 1)} }

// Notify requests another pass: containers or the network changed. It never blocks.
func (k *Keeper) Notify() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Fault returns the reason why scopes are not kept apart, or would not be after a start without a server; "" if they
// are, or needn't be.
func (k *Keeper) Fault() string {
	if fault := k.fault.Load(); fault != nil {
		return *fault
	}
	return ""
}

const (
	// resync is the interval between two passes without a change: each restores rules that were removed.
	resync = 10 * time.Second
	// pause is the minimal time between two passes while containers come and go.
	pause = 50 * time.Millisecond
)

// Run works until ctx ends. The rules stay.
func (k *Keeper) Run(ctx context.Context) error {
	k.recall()
	ticker := time.NewTicker(resync)
	defer ticker.Stop()
	synced, hold := k.Synced, k.Hold
	for full := true; ; {
		k.Pass(ctx, full)
		select {
		case <-ctx.Done():
			return k.end()
		case <-time.After(pause):
		}
		select {
		case <-ctx.Done():
			return k.end()
		case <-k.wake:
			full = false
		case <-ticker.C:
			full = true
		case <-synced:
			full, synced = true, nil
		case <-hold:
			full, hold = true, nil
		}
	}
}

// Pass makes one pass. With full it reads everything again, also what hardly ever changes.
func (k *Keeper) Pass(ctx context.Context, full bool) {
	if !k.Used() {
		return
	}
	text := k.enforce(ctx, full)
	if text == k.Fault() || ctx.Err() != nil {
		return
	}
	k.fault.Store(&text)
	if text != "" {
		k.Logger.Warn("this node can't apply or keep the network's policy; retrying", "backoff", resync, "reason", text)
	}
	if k.Changed != nil {
		k.Changed()
	}
}

// enforce applies the state that counts, then stores it: a disk that refuses, or is slow, holds no rule back. It
// returns what failed.
func (k *Keeper) enforce(ctx context.Context, full bool) string {
	full = full || k.Fault() != "" // after a failure nothing is known to be right
	is, synced := k.remembered, k.synced()
	if synced {
		is = memory{k.Network(), k.Pods()}
	} else if is.Driver == "" {
		return ""
	}
	var faults []string
	if err := k.enforceState(ctx, full, is); err != nil {
		faults = append(faults, "its scopes are not kept apart: "+err.Error())
	}
	if synced {
		if err := k.remember(is, full); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return strings.Join(faults, "; ")
}

func (k *Keeper) enforceState(ctx context.Context, full bool, is memory) error {
	if is.Driver == "" || is.Policy == nil || Open(*is.Policy) {
		k.applied, k.listed = "", ""
		return k.Kernel.Remove(ctx)
	}
	local, err := k.Local(ctx)
	if err != nil {
		return err
	}
	if err := k.locate(ctx, full, is.Network, local); err != nil {
		return err
	}
	return k.apply(ctx, full, Rules(Input{
		Policy: *is.Policy, Own: k.subnet, Local: local, Bridge: k.bridge.Name, Peers: is.Peers, Others: is.Pods,
	}))
}

// locate finds the containers' own network, and prepares its bridge. It asks the engine again if the declared network
// changed, or if a container is outside of the subnet: the engine's network has been created again.
func (k *Keeper) locate(ctx context.Context, full bool, network node.Network, local node.Pods) error {
	given := node.Network{Driver: network.Driver, Subnet: network.Subnet}
	outside := false
	for address := range local {
		outside = outside || address.Is4() && !k.subnet.Contains(address)
	}
	if full || outside || !k.subnet.IsValid() || given.Driver != k.given.Driver || given.Subnet != k.given.Subnet {
		subnet, err := k.Subnet(ctx)
		if err != nil {
			return err
		}
		k.subnet, k.given = subnet, given
	}
	bridge, err := k.Kernel.Bridge(k.subnet)
	if err != nil {
		return fmt.Errorf("find the containers' bridge: %w", err)
	}
	if full || bridge != k.bridge {
		k.bridge = Bridge{} // if the preparation fails, the next pass repeats it
		if err := k.Kernel.Prepare(ctx, bridge); err != nil {
			return err
		}
		k.bridge = bridge
	}
	return nil
}

// apply makes the kernel take the rules, unless it has them.
func (k *Keeper) apply(ctx context.Context, full bool, script string) error {
	if script == k.applied && !full {
		return nil
	}
	is, err := k.Kernel.List(ctx)
	if err != nil || script == k.applied && is == k.listed {
		return err
	}
	if script == k.applied {
		k.Logger.Warn("another program changed the rules between scopes: they are put back", "table", table)
	}
	if err := k.Kernel.Apply(ctx, script); err != nil {
		return fmt.Errorf("apply the rules: %w", err)
	}
	k.applied = script
	k.listed, err = k.Kernel.List(ctx)
	return err
}
