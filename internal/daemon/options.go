package daemon

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tend.dev/tend/internal/agent"
	"tend.dev/tend/internal/agent/prober"
	"tend.dev/tend/internal/control/autoscaler"
	"tend.dev/tend/internal/fault"
	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/store"
)

// Options are the server's flags. Every field but Root has a usable zero value.
type Options struct {
	// Root holds all of Tend's files; its flag is --root, its variable TEND_ROOT, its default /var/lib/tend.
	Root string
	// Data is the etcd data dir. Default <Root>/state.
	Data string
	// Plugins is the plugin root. Default <Root>/plugins.
	Plugins string
	// PluginTimeout bounds a call of a plugin. Default 1 m.
	PluginTimeout time.Duration
	// CallbackPort is the port at the platform network's gateway on which containers whose manifest a plugin wrote call
	// the server back. 0 opens no listener.
	CallbackPort int
	// HTTP is the TCP listener. Default 127.0.0.1:8686; "off" is none. It must be a loopback address.
	HTTP string
	// EtcdClient and EtcdPeer open etcd on TCP; by default it listens only on unix sockets inside Data.
	EtcdClient string
	EtcdPeer   string
	// Name is the etcd member's name. Default tend-0.
	Name string
	// Node is this machine's name as a node. Default: the host's name when the root was first used.
	Node string
	// QuietEtcd limits etcd's own log to warnings.
	QuietEtcd bool
	// Runtime is docker or process. Empty is what the root was first used with, else docker.
	Runtime string
	// Network is the platform network's name. Default tend0.
	Network string
	// ownNetwork: the network was named for this root only, and is removed with its last container.
	ownNetwork bool
	// DockerHost is the engine's address. Default: DOCKER_HOST, else the local socket.
	DockerHost string
	// Starts is how many containers the agent starts at a time. Default 8.
	Starts int
	// Resync is the interval between two complete reconciles of the view. Default 10 s.
	Resync time.Duration
	// Heartbeat is how often the agent renews its lease, NodeTimeout how long the lease lasts. Defaults 5 s and 30 s.
	Heartbeat   time.Duration
	NodeTimeout time.Duration
	// AutoscaleInterval is the interval at which the autoscaler evaluates a deployment. Default 15 s.
	AutoscaleInterval time.Duration
	// Paused starts the server paused, as after the restore of an older store.
	Paused bool
	// MinFree is the free disk space below which the server becomes read-only. Default 256 MiB; negative means never.
	MinFree int64
	// Build is how images are built from source.
	Build BuildOptions
	// Ingress is the node's proxy.
	Ingress IngressOptions
	Logger  *slog.Logger

	// Store, Engine and Faults are for tests: a store and a runtime that outlive the server, and failpoints.
	Store  store.Store
	Engine func(cluster, node string) (runtime.Runtime, error)
	Faults *fault.Points
	// Listener, Edge, Ask and Now are for simulations, which have no sockets and a clock of their own: the trusted
	// listener instead of the unix socket, the node's proxy, the function that answers probes, and the wall clock. Zero
	// values mean the real ones.
	Listener net.Listener
	Edge     func(changed func()) agent.Edge
	Ask      prober.Asker
	Now      func() time.Time
}

// DefaultRoot returns the folder where a server keeps its files by default: TEND_ROOT, /var/lib/tend for root, and the
// XDG data folder for other users. The client searches there too.
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

// errNoDataDir is returned if there is no place to store state.
var errNoDataDir = errors.New("no data directory: give --root or --data (or set TEND_ROOT)")

func (o Options) withDefaults() (Options, error) {
	if o.Root == "" && o.Data == "" {
		return o, errNoDataDir
	}
	if o.Root == "" {
		o.Root = filepath.Dir(o.Data)
	}
	if o.Data == "" {
		o.Data = filepath.Join(o.Root, "state")
	}
	if o.Plugins == "" {
		o.Plugins = filepath.Join(o.Root, "plugins")
	}
	orString(&o.HTTP, "127.0.0.1:8686")
	orString(&o.Name, "tend-0")
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{{&o.Resync, 10 * time.Second}, {&o.Heartbeat, 5 * time.Second}, {&o.NodeTimeout, 30 * time.Second}, {&o.AutoscaleInterval, autoscaler.DefaultInterval}} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	return o, nil
}

func orString(value *string, fallback string) {
	if strings.TrimSpace(*value) == "" {
		*value = fallback
	}
}
