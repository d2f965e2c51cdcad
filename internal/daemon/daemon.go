package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/agent"
	"tend.dev/tend/internal/agent/prober"
	"tend.dev/tend/internal/certstore"
	"tend.dev/tend/internal/controlplane"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/fault"
	"tend.dev/tend/internal/ingress/edge"
	"tend.dev/tend/internal/intent"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/nodeapi/local"
	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/secret"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/view"
)

// daemon is a running server with its parts, in the order they were started.
type daemon struct {
	Options
	node string
	// used reports whether the root had been used before this start.
	used bool
	// pause prevents all changes after an older store was restored; resuming is held while a resume runs.
	pause    *standstill
	resuming sync.Mutex
	// quarantined are the paths below the root that this start set aside.
	quarantined []string
	cluster     cluster
	keys        *secret.Keys
	store       store.Store
	term        *controlplane.Term
	view        *view.View
	runtime     runtime.Runtime
	gateway     gatewayer // nil if containers have none
	files       files
	builds      builds
	nodes       *local.Service
	control     *local.Control // of the server's own node
	registry    *prometheus.Registry
	metrics     *engine.Metrics

	plane     *controlplane.Plane
	agent     *agent.Agent
	intents   *intent.Service
	edge      *edge.Edge // nil if the node has no proxy
	server    *server.Server
	callbacks *callbacks // nil if containers can't call back
	doors     []server.Door

	// fatal ends the server with a reason.
	fatal context.CancelCauseFunc
	// stops are called in reverse order.
	stops []func() error
}

// Run starts a server and works until ctx ends or a part of it fails. Containers keep running afterwards.
func Run(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	began := time.Now()
	ctx, fatal := context.WithCancelCause(ctx)
	defer fatal(nil)
	d := &daemon{Options: o, fatal: fatal}
	for _, start := range []func(context.Context) error{
		d.prepareRoot, d.openStore, d.claim, d.openFiles, d.openRuntime, d.build, d.listen,
	} {
		if err := start(ctx); err != nil {
			return errors.Join(err, d.close())
		}
	}
	d.reportStrays()
	d.Logger.Info("starting", "root", d.Root, "node", d.node, "cluster", d.cluster.UID, "runtime", d.Runtime)
	return errors.Join(d.serve(ctx, began), d.close())
}

// prepareRoot creates the folders, readable only by their owner.
func (d *daemon) prepareRoot(context.Context) error {
	if err := d.makeRoot(); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	if d.node, err = remembered(d.Root, "node", d.Node, host); err != nil {
		return err
	}
	if d.Runtime, err = remembered(d.Root, "runtime", d.Runtime, runtimeDocker); err != nil {
		return err
	}
	return errors.Join(d.closeRoot(), d.keepOutOfGit())
}

// openRuntime makes the client of what runs containers. An engine that is away is not an error: the agent waits for it.
func (d *daemon) openRuntime(ctx context.Context) error {
	open := d.Engine
	if open == nil {
		open = func(cluster, node string) (runtime.Runtime, error) { return d.newRuntime(ctx, cluster, node) }
	}
	rt, err := open(d.cluster.UID, d.node)
	if err != nil {
		return fmt.Errorf("open the %s runtime: %w", d.Runtime, err)
	}
	d.gateway, _ = rt.(gatewayer)
	d.runtime = fault.Runtime(rt, d.Faults)
	d.onStop(rt.Close)
	if own, ok := rt.(interface{ RemoveNetwork(context.Context) error }); ok && d.ownNetwork {
		d.onStop(func() error { return d.leaveNetwork(own.RemoveNetwork) })
	}
	return nil
}

// build creates the parts above the store; nothing runs yet.
func (d *daemon) build(context.Context) error {
	d.registry = prometheus.NewRegistry()
	d.metrics = engine.NewMetrics(d.registry)
	d.view = view.New(d.store, view.Options{Decode: layout.Decode, Indexes: layout.Indexes, Logger: d.Logger})
	if err := d.openBuilds(); err != nil {
		return err
	}
	d.plane = d.newPlane()
	d.nodes = local.New(local.Options{
		Store: d.store, View: d.view, Keys: d.keys, Blobs: d.files.open, Certificates: certstore.New(d.store, d.keys), Callback: d.controllerURL,
	})
	d.control = d.nodes.Node(d.node)
	serving, err := d.openEdge()
	if err != nil {
		return err
	}
	d.agent = agent.New(agent.Options{
		Node: d.node, Runtime: d.runtime, Workers: d.Starts, Resync: d.Resync, Heartbeat: d.Heartbeat,
		HeartbeatTTL: d.NodeTimeout, LoadWindow: d.AutoscaleInterval, Logger: d.Logger, Metrics: d.metrics, ProbeMetrics: prober.NewMetrics(d.registry),
		Control: d.control, Assets: d.files, Builder: d.builds.builder, Builds: d.Build.AtOnce, Memory: d.memory, Edge: serving,
		Ask: d.Ask, Now: d.Now,
		Hold: d.pause.resumed, Paused: d.pause.why,
		Quarantined: func() []string { return d.quarantined },
	})
	return d.buildServer()
}

func (d *daemon) snapshot() layout.Snapshot { return layout.Snapshot{Reader: d.view.Snapshot()} }

// serve runs the parts until ctx ends, then stops HTTP, agent, controllers and view in this order.
func (d *daemon) serve(ctx context.Context, began time.Time) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := []part{
		{"view", d.view.Run},
		{"controllers", d.pause.after(d.lead)},
		{"agent", d.agent.Run},
		{"files", d.pause.after(d.collect)},
		{"builds", d.pause.after(d.collectBuilds)},
		{"progress", d.keepProgress},
		{"http", func(ctx context.Context) error { return d.server.Serve(ctx, d.doors...) }},
	}
	if callbacks := d.callbacks; callbacks != nil {
		parts = append(parts, part{"callbacks", callbacks.run})
	}
	running := make([]*runningPart, len(parts))
	for i, p := range parts {
		running[i] = p.start(cancel)
	}
	d.notify(ctx, notifyStarted)
	go d.announce(ctx, began)
	<-ctx.Done()
	d.Logger.Info("stopping")
	d.notify(ctx, notifyStopping)
	var faults []error
	for i := len(running) - 1; i >= 0; i-- {
		faults = append(faults, running[i].stop())
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		faults = append(faults, cause)
	}
	return errors.Join(faults...)
}

// announce reports when replay is over.
func (d *daemon) announce(ctx context.Context, began time.Time) {
	for _, ready := range []<-chan struct{}{d.view.Synced(), d.plane.Ready(), d.agent.Ready()} {
		select {
		case <-ready:
		case <-ctx.Done():
			return
		}
	}
	d.Logger.Info("ready", "took", time.Since(began).Round(time.Millisecond), "socket", filepath.Join(d.Root, "tend.sock"))
	d.notify(ctx, notifyReady)
}

// missing returns what readiness waits for.
func (d *daemon) missing() []string {
	if why := d.pause.why(); why != "" {
		return []string{"paused: " + why + "; next: tend resume"}
	}
	var out []string
	if why := d.full(); why != "" {
		out = append(out, "writes are refused: "+why)
	}
	for name, ready := range map[string]<-chan struct{}{
		"reading the store": d.view.Synced(), "the first look at every object": d.plane.Ready(),
		"the first look at every task": d.agent.Ready(),
	} {
		select {
		case <-ready:
		default:
			out = append(out, name)
		}
	}
	return out
}

func (d *daemon) onStop(stop func() error) { d.stops = append(d.stops, stop) }

// close closes what was opened, in reverse order.
func (d *daemon) close() error {
	var faults []error
	for i := len(d.stops) - 1; i >= 0; i-- {
		faults = append(faults, d.stops[i]())
	}
	return errors.Join(faults...)
}
