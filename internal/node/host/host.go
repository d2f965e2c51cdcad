package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/agent/builder"
	"tend.dev/tend/internal/node/agent/keptlogs"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/agent/pulled"
	"tend.dev/tend/internal/node/netpolicy"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/overlay"
	"tend.dev/tend/internal/node/resolver"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/measured"
	"tend.dev/tend/internal/platform/retention"
	"tend.dev/tend/internal/reconciler"
)

// Link connects a machine with its control plane. Cluster, Control and Registry are required.
type Link struct {
	// Cluster is the store's uid and a label of every container: an agent touches only containers of its own cluster.
	Cluster string
	Control nodeapi.Control
	// Assets finds the files of assets. Default: a cache in the root, filled from Control.
	Assets agent.Assets
	// Seal and Open encrypt and decrypt the records of plain processes.
	Seal, Open func([]byte) ([]byte, error)
	// Registry receives the metrics of the machine's parts, Metrics those of its engine.
	Registry *prometheus.Registry
	Metrics  *reconciler.Metrics
	// While Hold is open, nothing touches containers, nor the networks between them; Paused returns the reason. Default: a
	// closed channel.
	Hold   <-chan struct{}
	Paused func() string
	// Outside returns the address at which other nodes reach this machine, unless Options.Advertise sets it; invalid if
	// they can't. Default: they can't.
	Outside func() netip.Addr
	// Listeners are those of this process beside the machine's own. Default: none.
	Listeners []ports.Listener
	// Own is the machine's certificate as a node. Without one it neither opens connections to other nodes nor accepts any.
	Own *authority.Own
	// Former and Cleared are the agent's: see agent.Options.
	Former  []string
	Cleared func() error
	// Callbacks answers containers that call the server back. Default: they can't.
	Callbacks http.Handler
}

// Host is the part of Tend on a machine that has containers. Create it with Open.
type Host struct {
	Options
	Link
	runtime     runtime.Runtime
	gateway     gatewayer // nil if containers have none
	bridged     bridged   // nil if containers share the machine's network
	cache       *cache    // nil if Assets finds the files
	buildLogs   *buildlog.Logs
	builder     *builder.Builder
	pulled      *pulled.Images
	agent       *agent.Agent
	callbacks   *callbacks // nil if containers can't call back
	quarantined []string
	overlay     *overlay.Overlay // nil for a runtime of tests
	resolver    *resolver.Resolver
	policy      *netpolicy.Keeper // nil where containers have no network of their own
	relay       *relaying         // nil if the machine accepts no connections of other nodes
	group       *reconciler.Group
	// stops are called in reverse order.
	stops []func() error
}

// Open makes the machine's parts without running them. The root must be prepared.
func Open(ctx context.Context, o Options, l Link) (*Host, error) {
	h := &Host{Options: o.WithDefaults(), Link: l}
	if h.Hold == nil {
		open := make(chan struct{})
		close(open)
		h.Hold = open
	}
	if err := errors.Join(h.openRuntime(ctx), h.openFiles()); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if err := h.openBuilds(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if err := h.openRelay(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	serving, err := h.openEdge()
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.reportStrays()
	kept, err := keptlogs.Open(keptlogs.Options{
		Dir: filepath.Join(h.Root, "logs"), Room: agent.Room, Seal: h.Seal, Unseal: h.Open,
	})
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.agent = agent.New(agent.Options{
		Node: h.Node, Labels: h.Labels, Runtime: h.runtime, Workers: h.Starts, Resync: h.Resync, Heartbeat: h.Heartbeat,
		HeartbeatTTL: h.NodeTimeout - nodeapi.Gather(h.NodeTimeout, h.Heartbeat), LoadWindow: h.AutoscaleInterval,
		Logger: h.Logger, Tracer: h.Tracer, Metrics: h.Metrics, ProbeMetrics: prober.NewMetrics(h.Registry),
		Control: h.Control, Assets: h.Assets, Puller: h.pulled, Builder: h.builder, Builds: h.Build.AtOnce,
		Memory: h.memory, Edge: serving,
		Ask: h.Ask, Now: h.Now, Hold: h.Hold, Paused: h.Paused, Controller: h.controllerURL(),
		Spool: filepath.Join(h.Root, "transfers"), KeptLogs: kept, Quarantined: func() []string { return h.quarantined },
		Warnings: h.missingPrograms, Moved: h.podsMoved, Listeners: h.listeners,
		Outside: h.relayAddress, Reach: h.reach(), Drained: h.relay.drained, Former: h.Former, Cleared: h.Cleared,
	})
	members := []reconciler.Member{reconciler.NewMember(h.held(h.collectImages))}
	if h.cache != nil {
		members = append(members, reconciler.NewMember(h.held(h.cache.run)))
	}
	if h.callbacks = h.newCallbacks(); h.callbacks != nil {
		members = append(members, reconciler.NewMember(h.callbacks.run))
	}
	if h.overlay = h.newOverlay(); h.overlay != nil {
		members = append(members, reconciler.NewMember(h.overlay.Run))
	}
	if h.policy = h.newPolicy(); h.policy != nil {
		members = append(members, reconciler.NewMember(h.policy.Run), reconciler.NewMember(h.watchUnsynced))
	}
	h.reportPrograms()
	if h.relay != nil {
		h.Control.Subscribe(h.relay.changed) // after the agent has
		members = append(members, reconciler.NewMember(h.relay.run))
	}
	h.group = reconciler.NewGroup(reconciler.GroupOptions{}, append(members, h.agent)...)
	return h, nil
}

// Run works until ctx ends. Containers keep running.
func (h *Host) Run(ctx context.Context) error { return h.group.Run(ctx) }

// Ready returns a channel that is closed when every task was reconciled once.
func (h *Host) Ready() <-chan struct{} { return h.agent.Ready() }

// SecondWriter returns the reason why the pods of spec can't start on this machine now, or nil: the container of
// another program writes to one of their volumes.
func (h *Host) SecondWriter(ctx context.Context, spec api.DeploymentSpec) error {
	return h.agent.SecondWriter(ctx, spec)
}

// held makes run wait until containers may be touched.
func (h *Host) held(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-h.Hold:
		case <-ctx.Done():
			return nil
		}
		return run(ctx)
	}
}

// openRuntime makes the client of the container runtime. An engine that doesn't answer is not an error: the agent waits
// for it.
func (h *Host) openRuntime(ctx context.Context) error {
	open := h.Engine
	if open == nil {
		open = func(cluster, node string) (runtime.Runtime, error) { return h.newRuntime(ctx, cluster, node) }
	}
	rt, err := open(h.Cluster, h.Node)
	if err != nil {
		return fmt.Errorf("open the %s runtime: %w", h.Runtime, err)
	}
	h.gateway, _ = rt.(gatewayer)
	h.bridged, _ = rt.(bridged)
	h.runtime = measured.Runtime(rt, measured.NewMetrics(h.Registry))
	if h.AroundRuntime != nil {
		h.runtime = h.AroundRuntime(h.runtime)
	}
	h.onStop(rt.Close)
	if own, ok := rt.(interface{ RemoveNetwork(context.Context) error }); ok && h.ownNetwork {
		h.onStop(func() error { return h.leaveNetwork(own.RemoveNetwork) })
	}
	return nil
}

// ledger returns the ledger of one kind of file in the root.
func (h *Host) ledger(sort string) *retention.Ledger {
	return retention.Open(h.Root, sort, h.Cluster)
}

func (h *Host) onStop(stop func() error) { h.stops = append(h.stops, stop) }

// Close closes the parts in reverse order of opening.
func (h *Host) Close() error {
	var faults []error
	for i := len(h.stops) - 1; i >= 0; i-- {
		faults = append(faults, h.stops[i]())
	}
	return errors.Join(faults...)
}
