package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/observe/telemetry"
	"tend.dev/tend/internal/observe/telemetry/census"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/platform/servicemanager"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/server/backup/restore"
	"tend.dev/tend/internal/server/clusterapi"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/server/rotation"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
	"tend.dev/tend/internal/store/view"
)

// daemon is a running server with its parts, in the order they were started.
type daemon struct {
	Options
	// used reports whether the root had been used before this start.
	used bool
	// pause prevents all changes after an older store was restored; resuming is held while a resume runs. lastPause is
	// the number of the last pause that was over when this server started.
	pause     *standstill
	resuming  sync.Mutex
	lastPause int64
	cluster   records.Cluster
	keys      *secret.Keys
	// machineKeys encrypt data that only this machine reads.
	machineKeys *secret.Keys
	store       store.Store
	etcd        *etcd.Store    // nil if the store is a test's, or external
	external    *etcd.External // nil if the store is not external
	peers       *peer.Identity // nil for a server that is alone, or whose store is external
	// peerHost is this server's host name or address for other servers.
	peerHost string
	// term is nil while another server has the controllers.
	term atomic.Pointer[controlplane.Term]
	view *view.View
	// events and audit are the logs of changes and of calls.
	events, audit *eventlog.Log
	auditor       *eventlog.Auditor
	files         files
	sources       sources // of files, at other servers
	nodes         *local.Service
	fleet         nodeapi.Fleet
	metrics       *reconciler.Metrics
	storeMetrics  *telemetry.StoreMetrics

	plane   *controlplane.Plane
	host    *host.Host // nil without an agent of its own
	verbs   *verbs.Service
	plugins *broker.Broker // nil without plugins
	backups backups
	server  *server.Server
	// paths holds the paths of the API, which are registered while the store starts. registering is closed once they are.
	paths       *server.Paths
	registering recovery.Group
	endpoints   []server.Endpoint
	// local is the URL of the listener on loopback; empty if there is none.
	local        string
	remote       remoteListener
	nodeListener *nodeListener // nil without a listener for nodes
	links        links         // the connections of nodes
	rotation     *rotation.Service
	joining      chan struct{} // holds an element while a machine joins
	clusters     *clusterapi.Handler

	// life is the time at which this server was started.
	life time.Time
	// fatal ends the server with a reason.
	fatal context.CancelCauseFunc
	stops []func() error // called in reverse order
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
	for _, start := range d.opening() {
		if err := start(ctx); err != nil {
			empty := d.abandon(ctx)
			if err = errors.Join(err, d.close()); empty {
				err = errors.Join(err, d.emptyRoot())
			}
			return err
		}
	}
	if d.opened != nil {
		d.opened(d)
	}
	d.Logger.Info("starting", "root", d.Root, "node", d.Node, "cluster", d.cluster.UID, "runtime", d.Runtime)
	return errors.Join(d.serve(ctx, began), d.close())
}

// opening returns the steps that make the parts, in their order.
func (d *daemon) opening() []func(context.Context) error {
	return []func(context.Context) error{
		d.registerPaths, d.prepareRoot, d.openStore, d.claim, d.openFiles, d.build, d.openHost, d.openGate,
		d.openRemoteAuthority, d.openKeys, d.listen, d.awaitVote,
	}
}

// prepareRoot creates the folders, readable only by their owner.
func (d *daemon) prepareRoot(context.Context) (err error) {
	if err := errors.Join(restore.CheckRoot(d.Root, d.Data), restore.Finish(d.Root, d.Logger)); err != nil {
		return err
	}
	d.used, err = d.Prepare()
	return err
}

// build creates the parts above the store; nothing runs yet.
func (d *daemon) build(context.Context) error {
	d.life = d.Now().UTC()
	d.metrics = reconciler.NewMetrics(d.Registry)
	d.Registry.MustRegister(recovery.Metric())
	d.openView()
	d.storeMetrics.Follow(d.view.Revision)
	stopCounting := census.Register(d.Registry, d.view)
	d.onStop(func() error { stopCounting(); return nil })
	d.plane = d.newPlane()
	d.nodes = d.newNodes()
	d.view.OnChange(d.watchMembers)
	d.view.OnChange(func(change view.Change) {
		if change.Key == records.PauseKey {
			d.followPause(context.Background())
		}
	})
	return d.buildServer()
}

// programs lists the programs that the server runs.
var programs = []host.Program{
	{Name: "git", Package: "git", Off: "reading git repositories (syncs, plugins)"},
	{Name: "ssh", Package: "openssh-client", Off: "reading git repositories by ssh"},
}

// openHost opens this machine as a node.
func (d *daemon) openHost(ctx context.Context) error {
	if d.NoAgent {
		return nil
	}
	if err := d.enterSelf(ctx); err != nil {
		return err
	}
	var err error
	machine := d.Options.Options
	machine.Programs = programs
	d.host, err = host.Open(ctx, machine, host.Link{
		Cluster: d.cluster.UID, Control: d.nodes.Node(d.Node), Assets: d.files,
		Seal: d.machineKeys.Encrypt, Open: d.openSealed,
		Registry: d.Registry, Metrics: d.metrics, Hold: d.pause.hold(), Paused: d.pause.why,
		Callbacks: d.server.Callbacks(nil), Outside: d.outside,
		Own: d.ownNode(), Listeners: d.listeners(),
	})
	if err != nil {
		return err
	}
	d.onStop(d.host.Close)
	d.fleet.Add(d.Node, d.host.Access())
	return nil
}

func (d *daemon) snapshot() records.Snapshot { return records.Snapshot{Reader: d.view.Snapshot()} }

// serve runs the parts until ctx ends, then stops HTTP, agent, controllers and view in this order.
func (d *daemon) serve(ctx context.Context, began time.Time) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := []part{
		{"view", d.view.Run},
		{"controllers", d.pause.after(d.lead)},
	}
	if d.host != nil {
		parts = append(parts, part{"agent", d.host.Run})
	}
	parts = append(parts, part{"keys", d.pause.after(d.followKeys)}, part{"files", d.pause.after(d.collect)},
		part{"progress", d.pause.after(d.keepProgress)}, part{"unheard", d.pause.after(d.nodes.Listen)},
		part{"pause", d.keepPause})
	if d.nodeListener != nil {
		parts = append(parts, part{"nodes", d.nodeListener.run})
	}
	parts = append(parts, d.besideOthers()...)
	parts = append(parts, part{"audit", d.auditor.Run}) // after http, whose last calls it writes
	parts = append(parts, part{"http", func(ctx context.Context) error { return d.server.Serve(ctx, d.endpoints...) }})
	running := make([]*runningPart, len(parts))
	for i, p := range parts {
		running[i] = p.start(cancel)
	}
	servicemanager.Notify(ctx, d.Logger, notifyStarted)
	recovery.Go(func() { d.announce(ctx, began) })
	<-ctx.Done()
	d.Logger.Info("stopping")
	servicemanager.Notify(ctx, d.Logger, notifyStopping)
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
	for _, ready := range []<-chan struct{}{d.view.Synced(), d.planeReady(), d.hostReady()} {
		select {
		case <-ready:
		case <-ctx.Done():
			return
		}
	}
	d.Logger.Info("ready", "took", time.Since(began).Round(time.Millisecond), "socket", filepath.Join(d.Root, "tend.sock"))
	servicemanager.Notify(ctx, d.Logger, notifyReady)
}

// hostReady returns a channel that is closed when this machine's tasks were reconciled once.
func (d *daemon) hostReady() <-chan struct{} {
	if d.host != nil {
		return d.host.Ready()
	}
	return d.view.Synced()
}

// planeReady returns a channel that is closed when every object was reconciled once, which may be the work of another
// server.
func (d *daemon) planeReady() <-chan struct{} {
	if d.several() && d.term.Load() == nil {
		return d.view.Synced()
	}
	return d.plane.Ready()
}

// missing returns the reasons why the server isn't ready.
func (d *daemon) missing() []string {
	if why := d.pause.why(); why != "" {
		return []string{"paused: " + why + "; tend resume ends it"}
	}
	var out []string
	for _, why := range []string{d.quorum(), d.stalled(), d.full()} {
		if why != "" {
			out = append(out, "writes are refused: "+why)
		}
	}
	for name, ready := range map[string]<-chan struct{}{
		"reading the store": d.view.Synced(), "the first reconcile of every object": d.planeReady(),
		"the first look at every pod": d.hostReady(),
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
