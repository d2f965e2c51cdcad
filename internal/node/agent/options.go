package agent

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/node/agent/keptlogs"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/reconciler"
)

// Options are the options of an Agent. Node, Control and Runtime are required.
type Options struct {
	// Node is this node's id.
	Node    string
	Labels  map[string]string
	Control nodeapi.Control
	Runtime runtime.Runtime
	// Tracer exports traces. Default: nothing does.
	Tracer *tracing.Tracer
	// Assets finds the files of assets. Default: tasks that use one are rejected.
	Assets Assets
	// Controller is the URL at which containers of this machine call the server back. Default: they can't.
	Controller string
	// Memory returns the folder of secret files, which is never on a disk, and creates it if make is set. Default:
	// tasks that have secret files are rejected.
	Memory func(make bool) (string, error)
	// Spool is the folder of images that are on their way from another node. Default: one that was cut begins again.
	Spool string
	// Room returns how many bytes of such an image's file may still be written; default: those that leave the disk some
	// room.
	Room func(*os.File) (int64, error)
	// KeptLogs takes the last lines of containers before they are removed. Default: they go with their container.
	KeptLogs *keptlogs.Store
	// Puller pulls images; default: the runtime.
	Puller Puller
	// Builder builds the images of requests with a build. Default: such requests fail.
	Builder Builder
	// Workers is the number of tasks created or started at once; default 8. More only increases the tail latency.
	Workers int
	// Stops and Pulls limit the concurrent stops and pulls, which don't occupy a worker; default 32 and 4.
	Stops int
	Pulls int
	// Builds is the number of images built at once; default 2.
	Builds int
	// Resync is the time between two comparisons with the engine's full list; default 10 s.
	Resync time.Duration
	// Heartbeat is the time between two renewals, HeartbeatTTL the time after which the node counts as down without
	// one; default 5 and 30 s.
	Heartbeat    time.Duration
	HeartbeatTTL time.Duration
	// LoadWindow is the time between two calls of Load: a call within half of it gets the last answer again. Default 15
	// s.
	LoadWindow time.Duration
	// Ask makes one attempt of a probe; default: it probes the container.
	Ask prober.Asker
	// ProbeMetrics may be nil.
	ProbeMetrics *prober.Metrics
	// Edge creates the node's proxy, which calls changed when a listener or a certificate changed. Default: the node
	// has none.
	Edge func(changed func()) Edge
	// Outside returns where other nodes reach this machine, and its relay; port 0 if there is none. Default: they
	// don't.
	Outside func() netip.AddrPort
	// Listeners returns those of Tend on this machine, but for the proxy's: no container gets such a port. Default: none.
	Listeners func(context.Context) []ports.Listener
	// Reach returns why the relay of another node can't be asked; nil if it can. Default: it isn't tried.
	Reach func(ctx context.Context, to relay.Target, at netip.AddrPort) error
	// Drained waits until no connection of another node leads to a task any more, or until ctx ends. Default: none ever
	// does.
	Drained func(ctx context.Context, task string) error
	// DrainTime is the time in which running reconciles must finish when the agent stops; default 10 s.
	DrainTime time.Duration
	// Hold keeps the agent from touching containers until it is closed; default: it is closed. Paused says why
	// meanwhile.
	Hold   <-chan struct{}
	Paused func() string
	// Moved is called when Pods returns something else. It must not block. Default: nothing is.
	Moved func()
	// Quarantined returns the paths of the node's files that were set aside; default none.
	Quarantined func() []string
	// Warnings returns limits of the machine that the runtime doesn't know of; default none.
	Warnings func() []string
	// Former are names under which this machine was a node of the cluster until it was taken out, if containers of that
	// time may be left: those that the store doesn't know are stopped and removed. Cleared is called once none is left.
	// Default: none.
	Former  []string
	Cleared func() error
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Metrics of the engine; may be nil.
	Metrics *reconciler.Metrics
	// Now is the clock; default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Room == nil {
		o.Room = Room
	}
	o.Workers = orDefault(o.Workers, 8)
	o.Stops = orDefault(o.Stops, 32)
	o.Pulls = orDefault(o.Pulls, 4)
	o.Builds = orDefault(o.Builds, 2)
	o.Resync = orDefault(o.Resync, 10*time.Second)
	o.Heartbeat = orDefault(o.Heartbeat, 5*time.Second)
	o.HeartbeatTTL = orDefault(o.HeartbeatTTL, 30*time.Second)
	o.LoadWindow = orDefault(o.LoadWindow, 15*time.Second)
	o.DrainTime = orDefault(o.DrainTime, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Hold == nil {
		open := make(chan struct{})
		close(open)
		o.Hold = open
	}
	if o.Paused == nil {
		o.Paused = func() string { return "" }
	}
	if o.Quarantined == nil {
		o.Quarantined = func() []string { return nil }
	}
	if o.Warnings == nil {
		o.Warnings = func() []string { return nil }
	}
	if o.Listeners == nil {
		o.Listeners = func(context.Context) []ports.Listener { return nil }
	}
	if o.Cleared == nil {
		o.Cleared = func() error { return nil }
	}
	if o.Drained == nil {
		o.Drained = func(context.Context, string) error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func orDefault[T int | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}
