package daemon

import (
	"cmp"
	"crypto/x509"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/eventlog"
)

// Options are the server's flags. Every field but Root has a usable zero value.
type Options struct {
	// Options configures this machine as a node. Data is the etcd data dir here.
	host.Options
	// NoAgent leaves the containers to other machines: no agent runs in the server.
	NoAgent bool
	// NodeListen is the TCP address for agents of other machines, with TLS. Default: none.
	NodeListen string
	// Plugins is the plugin root. Default <Root>/plugins.
	Plugins string
	// PluginTimeout bounds a call of a plugin. Default 1 m.
	PluginTimeout time.Duration
	// Manifests is a folder whose manifests are kept applied while this server has the controllers. Default: none.
	Manifests string
	// HTTP is the TCP listener. Default 127.0.0.1:8686; "off" for none. It must be a loopback address.
	HTTP string
	// Listen is the TCP address at which people on other machines reach the API, with TLS, as in :8685. Default: none.
	Listen string
	// TLSCert and TLSKey are the files of the certificate there, in PEM; they are read again when they change. Default:
	// the cluster's own authority issues one, which access tokens pin.
	TLSCert, TLSKey string
	// HostMounts are the host's folders that users without admin rights may mount. Default: none.
	HostMounts []string
	// EtcdClient and EtcdPeer open etcd on TCP; by default it listens only on unix sockets inside Data.
	EtcdClient string
	EtcdPeer   string
	// External is an etcd that the user runs, instead of the embedded one. Default: the embedded one.
	External etcd.ExternalOptions
	// PeerListen is the HOST:PORT at which this server's store takes connections of other servers' stores, with TLS.
	// PeerAddress is its address for the others, if it differs. The server remembers both. Default: no other servers.
	PeerListen, PeerAddress string
	// Join is the address of a running server's listener for nodes; the first start joins it with Token.
	Join, Token string
	// Name is the server's name, and its etcd member's. Default: the name stored in its root, else its node's name.
	Name string
	// QuietEtcd limits etcd's own log to warnings.
	QuietEtcd bool
	// Paused starts the server paused, as after the restore of an older store.
	Paused bool
	// Backups configures the scheduled backups. Default: none.
	Backups BackupOptions
	// Events and AuditLog limit the size of the logs of changes and of calls. Default eventlog.DefaultRetention.
	Events, AuditLog eventlog.Retention

	// Store and Registry are for tests: a store that outlives the server, and what its metrics are registered with.
	// Default: those of the server.
	Store    store.Store
	Registry *prometheus.Registry
	// AroundStore wraps the store in tests, for failpoints. Default: nothing.
	AroundStore func(store.Store) store.Store
	// MailRoots are the authorities of mail servers' certificates in tests. Default: those that the machine trusts.
	MailRoots *x509.CertPool
	// Shared tells a simulation's server that other servers use the same Store. A server with a store of its own knows
	// that by itself.
	Shared bool
	// opened receives the server before it serves, in tests.
	opened func(*daemon)
	// Listener and Nodes are for simulations, which have no sockets: the trusted listener instead of the unix socket, and
	// the listener for nodes. Zero values mean the real ones.
	Listener net.Listener
	Nodes    net.Listener
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
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	o.Backups.Keep = cmp.Or(o.Backups.Keep, 7)
	for _, keep := range []*eventlog.Retention{&o.Events, &o.AuditLog} {
		*keep = keep.WithDefaults()
	}
	o.Options = o.WithDefaults()
	return o, nil
}

// listeners returns those of the server itself.
func (o Options) listeners() (out []ports.Listener) {
	for _, at := range [][2]string{{o.HTTP, "--http"}, {o.Listen, "--listen"}, {o.NodeListen, "--node-listen"},
		{o.PeerListen, "--peer-listen"}, {o.EtcdClient, "--etcd-client"}, {o.EtcdPeer, "--etcd-peer"}} {
		out = append(out, ports.ListenerAt(at[0], "for the server", at[1])...)
	}
	return out
}

// tendPorts returns the TCP ports at which the server, and the agent in it, listen or would.
func (o Options) tendPorts() (out []int) {
	for _, listener := range o.listeners() {
		out = append(out, listener.Number)
	}
	if !o.NoAgent {
		out = append(out, ports.Numbers(o.RelayListen, o.Ingress.HTTP, o.Ingress.HTTPS)...)
		if o.CallbackPort != 0 {
			out = append(out, o.CallbackPort)
		}
	}
	return out
}

func orString(value *string, fallback string) {
	if strings.TrimSpace(*value) == "" {
		*value = fallback
	}
}
