package overlay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
)

// Options are the options of an Overlay. All but Bridge and Now are required.
type Options struct {
	Node string
	// Network returns the desired network, Report stores the observed state.
	Network func() node.Network
	Report  func(context.Context, api.NetworkNodeStatus) error
	// Synced is closed when Network is complete.
	Synced <-chan struct{}
	// While Hold is open, a device of the kernel and its paths stay as they are: Network may be of an older store.
	// It is required: a nil one would hold for ever.
	Hold <-chan struct{}
	// Address returns the address at which other nodes reach this one; invalid if they don't.
	Address func() netip.Addr
	// KeyFile holds the private key of WireGuard; it is made when it is first needed.
	KeyFile string
	// Bridge returns the subnet of the containers' network, invalid if there is none yet. Bridge is nil on a machine whose
	// containers share its own network.
	Bridge func(context.Context) (netip.Prefix, error)
	// Fault returns a further fault of the network, found elsewhere, or "".
	Fault  func() string
	Logger *slog.Logger
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// deviceName is the name of the device on every node.
const deviceName = api.OverlayDevice

// Overlay keeps the network of this machine as it should be. Create it with New, and Run it.
type Overlay struct {
	Options
	wake   chan struct{}
	kernel system // nil until a network is declared
	key    wgtypes.Key
	// made is set once the network was made, or kept, by this process.
	made bool

	reported *api.NetworkNodeStatus
	failed   string
	// refused is set while the servers reject this node's reports, so that it gets no subnet. asked is the time at which
	// one was first needed.
	refused atomic.Bool
	asked   atomic.Pointer[time.Time]
}

// New returns an Overlay.
func New(o Options) *Overlay {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Overlay{Options: o, wake: make(chan struct{}, 1)}
}

// Changed requests another pass. It never blocks.
func (o *Overlay) Changed() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// resync is the interval between two passes without a change.
const resync = 10 * time.Second

// Run works until ctx ends. A device of the kernel stays, so that containers reach each other meanwhile.
func (o *Overlay) Run(ctx context.Context) error {
	select {
	case <-o.Synced:
	case <-ctx.Done():
		return nil
	}
	ticker := time.NewTicker(resync)
	defer ticker.Stop()
	defer func() {
		if o.kernel != nil {
			o.kernel.close()
		}
	}()
	hold := o.Hold
	for {
		if err := o.pass(ctx); err != nil && ctx.Err() == nil {
			o.fail(err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-o.wake:
		case <-hold:
			hold = nil
		case <-ticker.C:
		}
	}
}

// fail logs a fault that separates the node from the others, once.
func (o *Overlay) fail(text string) {
	if text != o.failed && text != "" {
		o.Logger.Warn("this node is not connected to the network between nodes; retrying", "backoff", resync, "reason", text)
	}
	o.failed = text
}

// ErrNoSubnet means that this node's subnet isn't known yet.
var ErrNoSubnet = errors.New("the servers have not given this node a subnet yet: if that stays so, tend describe network tend0")

// Subnet returns the subnet for creating the containers' network, and the MTU of the path to other nodes. A node that
// others reach has a subnet before a network is declared. A node that gets none leaves the choice to the container
// engine.
func (o *Overlay) Subnet() (netip.Prefix, int, error) {
	network := o.Network()
	switch {
	case network.Subnet.IsValid():
		return network.Subnet, 1500 - headers[network.Driver], nil
	case network.Driver != "" || o.awaits():
		return netip.Prefix{}, 0, ErrNoSubnet
	}
	return netip.Prefix{}, 0, nil
}

// patience is the time for which the first container waits for the node's subnet, where no network is declared that
// needs it.
const patience = 10 * time.Second

// awaits reports whether the node is about to get a subnet.
func (o *Overlay) awaits() bool {
	if o.Bridge == nil || !boundary.Address(o.Address()) || o.refused.Load() {
		return false
	}
	now := o.Now()
	o.asked.CompareAndSwap(nil, &now)
	return now.Sub(*o.asked.Load()) < patience
}

// pass performs all due actions, and reports the result.
func (o *Overlay) pass(ctx context.Context) error {
	if !o.Used() {
		o.announce(ctx)
		return nil
	}
	if err := o.open(); err != nil {
		return o.report(ctx, api.NetworkNodeStatus{Address: o.Address(), Message: err.Error()})
	}
	status := api.NetworkNodeStatus{Address: o.Address(), Key: o.key.PublicKey().String()}
	wanted := Wanted{Network: o.Network(), Key: status.Key, Address: status.Address, Bridged: o.Bridge != nil}
	state, err := o.observe(ctx, &status)
	if err == nil && status.Address.IsValid() {
		wanted.MTU, err = o.kernel.mtu(status.Address)
	}
	if err != nil {
		status.Message = err.Error()
		return o.report(ctx, status)
	}
	if o.spares(state) {
		return nil
	}
	declared := wanted.Driver != ""
	if !status.Address.IsValid() {
		wanted.Driver = ""
		status.Message = "it doesn't know at which address other nodes reach it: start it with --advertise ADDRESS"
	}
	actions, faults := Plan(wanted, state)
	faults = append(faults, o.act(actions)...)
	for _, fault := range []string{o.kernel.fault(wanted.Bridged), o.Fault()} {
		if fault != "" {
			faults = append(faults, fault)
		}
	}
	if !declared {
		return nil
	}
	if len(faults) > 0 {
		status.Message = strings.Join(faults, "; ")
	}
	status.Connected = wanted.Subnet.IsValid() && status.Message == ""
	return o.report(ctx, status)
}

// announce reports the node's address and its networks before a network is declared, so that it gets a subnet that no
// other node has.
func (o *Overlay) announce(ctx context.Context) {
	status := api.NetworkNodeStatus{Address: o.Address()}
	if o.Bridge == nil || !boundary.Address(status.Address) {
		return
	}
	var err error
	if status.Subnet, err = o.Bridge(ctx); err == nil {
		status.Taken, err = networks(status.Subnet)
	}
	if err == nil {
		err = o.store(ctx, status)
	}
	if o.refused.Store(err != nil); err != nil && ctx.Err() == nil {
		o.Logger.Debug("this node gets no subnet of its own", "error", err)
	}
}

// observe returns the observed state, and completes a status by it.
func (o *Overlay) observe(ctx context.Context, status *api.NetworkNodeStatus) (State, error) {
	if o.Bridge != nil {
		var err error
		if status.Subnet, err = o.Bridge(ctx); err != nil {
			return State{}, err
		}
	}
	state, err := o.kernel.state(status.Subnet)
	status.Taken = taken(state.Others)
	return state, err
}

// act performs actions, and returns the faults of those that failed.
func (o *Overlay) act(actions []Action) (faults []string) {
	for _, action := range actions {
		if err := o.kernel.do(action); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", action, err))
			if action.Do == CreateDevice {
				break // the other actions need the device
			}
			continue
		}
		o.Logger.Info("network between nodes", "action", action.String())
	}
	return faults
}

// Used reports whether there is a network between nodes, or was one with this root: parts of it may be left.
func (o *Overlay) Used() bool {
	if o.Network().Driver != "" {
		return true
	}
	_, unknown := os.Stat(o.KeyFile)
	return unknown == nil
}

// taken lists the networks that the machine reaches by other routes, each once.
func taken(others []Route) (out []netip.Prefix) {
	for _, other := range others {
		out = append(out, other.To)
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	return slices.Compact(out)
}

// widest returns at most so many of some networks, the widest ones: they hold most of what a subnet must not overlap.
func widest(networks []netip.Prefix, most int) []netip.Prefix {
	if len(networks) <= most {
		return networks
	}
	out := slices.Clone(networks)
	slices.SortStableFunc(out, func(a, b netip.Prefix) int { return cmp.Compare(a.Bits(), b.Bits()) })
	return out[:most]
}

// report stores the status if it changed.
func (o *Overlay) report(ctx context.Context, status api.NetworkNodeStatus) error {
	o.fail(status.Message)
	if o.Network().Driver == "" {
		return nil
	}
	return o.store(ctx, status)
}

func (o *Overlay) store(ctx context.Context, status api.NetworkNodeStatus) error {
	status.Node, status.Message = o.Node, boundary.Reason(status.Message)
	status.Taken = widest(status.Taken, boundary.MaxTaken)
	if o.reported != nil && reflect.DeepEqual(*o.reported, status) {
		return nil
	}
	if err := o.Report(ctx, status); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	o.reported = &status
	return nil
}
