package host

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/observe/tracing"
)

// Options are the flags that a server and a separate agent share. Root is required.
type Options struct {
	// Root holds all of Tend's files; its flag is --root, its variable TEND_ROOT, its default /var/lib/tend.
	Root string
	// Data is the folder of the store. Default <Root>/state. A machine without a server has none.
	Data string
	// Node is this machine's name as a node. Default: the host's name when the root was first used.
	Node string
	// Labels are the labels that placement.constraints compare.
	Labels map[string]string
	// Runtime is docker or process. Default: the one with which the root was first used, else docker.
	Runtime string
	// Network is the platform network's name. Default: the one with which the root was first used, else tend0.
	Network string
	// Advertise is the address at which other nodes reach this machine. Default: found out.
	Advertise string
	// ownNetwork is set if the network was named for this root only: it is removed with its last container.
	ownNetwork bool
	// DockerHost is the engine's address. Default: the one that the docker command uses.
	DockerHost string
	// CallbackPort is the port at the platform network's gateway on which containers whose manifest a plugin wrote call
	// the server back. 0 opens no listener.
	CallbackPort int
	// Starts is the number of containers that the agent starts at a time. Default 8.
	Starts int
	// Resync is the interval between two complete reconciles. Default 10 s.
	Resync time.Duration
	// Heartbeat is the time between two renewals of the agent's lease, NodeTimeout that for which the lease lasts.
	// Defaults 5 s and 30 s.
	Heartbeat   time.Duration
	NodeTimeout time.Duration
	// AutoscaleInterval is the interval at which the autoscaler evaluates a deployment. Default 15 s.
	AutoscaleInterval time.Duration
	// MinFree is the free disk space below which files are refused, and below which a server becomes read-only. Default
	// 256 MiB; negative means never.
	MinFree int64
	// Build sets how images are built from source.
	Build BuildOptions
	// Ingress is the node's proxy.
	Ingress IngressOptions
	// Programs lists the programs that features of this process need, besides those of the network. Missing ones are
	// logged and shown with the node.
	Programs []Program
	Logger   *slog.Logger
	// Tracer exports traces. Default: no traces.
	Tracer *tracing.Tracer

	// Engine and AroundRuntime are for tests: a runtime that outlives the process, and failpoints. Default: neither.
	Engine        func(cluster, node string) (runtime.Runtime, error)
	AroundRuntime func(runtime.Runtime) runtime.Runtime
	// RelayListen is the TCP address for other nodes' connections to this node's pods, or off. Empty means off.
	RelayListen string
	// Edge, Ask, Relay and Now are for simulations, which have no sockets and a clock of their own: the node's proxy, the
	// function that answers probes, the node's relay, and the wall clock. Zero values mean the real ones.
	Edge func(changed func()) agent.Edge
	Ask  prober.Asker
	Now  func() time.Time
	// Relay receives the function that returns the address of a pod for other nodes, and returns the address at which they
	// reach it.
	Relay func(endpoint func(task string, port int, protocol string) (string, error)) netip.AddrPort
}

// DefaultRoot returns the folder where Tend keeps its files by default: TEND_ROOT, /var/lib/tend for root, and the XDG
// data folder for other users. The client searches there too.
func DefaultRoot() string {
	if root := os.Getenv("TEND_ROOT"); root != "" {
		return root
	}
	if os.Geteuid() == 0 {
		return "/var/lib/tend"
	}
	if data := os.Getenv("XDG_DATA_HOME"); data != "" {
		return filepath.Join(data, "tend")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "/var/lib/tend"
	}
	return filepath.Join(home, ".local", "share", "tend")
}

// defaultAutoscale is the time between two evaluations of a deployment by the autoscaler.
const defaultAutoscale = 15 * time.Second

// WithDefaults fills in the fields that are not set.
func (o Options) WithDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&o.Resync, 10 * time.Second}, {&o.Heartbeat, 5 * time.Second}, {&o.NodeTimeout, 30 * time.Second},
		{&o.AutoscaleInterval, defaultAutoscale},
	} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	return o
}
