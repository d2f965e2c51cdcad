package docker

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"
	"go.opentelemetry.io/otel/trace/noop"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// Options choose the engine and whose containers the runtime handles. Cluster and Node are needed.
type Options struct {
	// Host is the engine's address (unix:///var/run/docker.sock, tcp://…). Default: the engine of the docker command:
	// DOCKER_HOST and its companions, else docker's context, else the local socket.
	Host string
	// Cluster is the value of LabelCluster on everything this runtime may touch; Node that of LabelNode.
	Cluster string
	Node    string
	// Logger gets messages about the platform network and about engines that go away. Default: discards.
	Logger *slog.Logger
	// NetworkName is the platform network. Default api.Network.
	NetworkName string
	// NetworkSubnet returns the address range and the MTU for creating the platform network; without a range the engine
	// chooses. Its error fails every call that needs the network. Default: the engine chooses.
	NetworkSubnet func() (subnet netip.Prefix, mtu int, err error)
	// Resolver makes the machine answer the name queries of containers at the network's gateway, and reports whether it
	// does. Its error fails every call that needs the network. Default: the engine answers, for the containers' names.
	Resolver func(gateway netip.Addr) (bool, error)
	// Auth finds the credentials for a reference's registry. Default: UserAuth.
	Auth AuthProvider
	// Outside limits the pulls that no admin declared. Default: to what confine allows.
	Outside Outside
}

// Runtime implements runtime.Runtime on a Docker engine.
type Runtime struct {
	client  *client.Client
	options Options
	log     *slog.Logger
	owned   *owned
	network *platformNetwork
	limits  atomic.Pointer[hardLimits]
	// undescribed are the containers that the engine failed to inspect for the last List.
	undescribed atomic.Pointer[[]string]
	// negotiated is set once the client knows the engine's API version.
	negotiated atomic.Bool
	// endings are the ends of commands whose users have gone; closing, once it is closed, has them hurry.
	endings recovery.Group
	closing chan struct{}
	close   sync.Once
}

var _ runtime.Runtime = (*Runtime)(nil)

// New returns a runtime. It fails on an address it can't parse, but never because the engine doesn't answer: calls
// return ErrUnavailable until it does.
func New(_ context.Context, options Options) (*Runtime, error) {
	if options.Cluster == "" || options.Node == "" {
		return nil, fmt.Errorf("docker runtime: Cluster and Node are required")
	}
	options.NetworkName = cmp.Or(options.NetworkName, api.Network)
	if options.NetworkSubnet == nil {
		options.NetworkSubnet = func() (netip.Prefix, int, error) { return netip.Prefix{}, 0, nil }
	}
	if options.Resolver == nil {
		options.Resolver = func(netip.Addr) (bool, error) { return false, nil }
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Auth == nil {
		options.Auth = UserAuth()
	}
	options.Outside = options.Outside.orDefault()
	address, err := engineAddress(options.Host, options.Logger)
	if err != nil {
		return nil, fmt.Errorf("docker runtime: engine address: %w", err)
	}
	engine, err := client.New(append([]client.Opt{client.WithHTTPClient(newHTTPClient()),
		client.WithHost(client.DefaultDockerHost),
		client.WithTraceProvider(noop.NewTracerProvider()), // the library would make a span for each read
	}, address...)...)
	if err != nil {
		return nil, fmt.Errorf("docker runtime: engine address: %w", err)
	}
	rt := &Runtime{
		client: engine, options: options, log: options.Logger, owned: newOwned(),
		closing: make(chan struct{}),
	}
	rt.network = &platformNetwork{runtime: rt, name: options.NetworkName}
	return rt, nil
}

// newHTTPClient keeps as many idle connections as an agent has workers and streams. The library's own default of two
// per host would open a new connection for most calls. An empty TLSNextProto disables HTTP/2, whose setup would leave a
// TLS configuration behind that the library takes as a request for TLS.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			MaxIdleConns: 16, MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second,
			TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		},
		CheckRedirect: client.CheckRedirect,
	}
}

// Close frees the connections; containers keep running.
func (r *Runtime) Close() error {
	r.close.Do(func() { close(r.closing) })
	r.endings.Wait()
	return r.client.Close()
}

// apiVersion returns the API version used with the engine, agreed on with the first call that needs it.
func (r *Runtime) apiVersion(ctx context.Context) (string, error) {
	if !r.negotiated.Load() {
		if _, err := r.client.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
			return "", err
		}
		r.negotiated.Store(true)
	}
	return r.client.ClientVersion(), nil
}

// local reports whether the engine runs on this machine.
func (r *Runtime) local() (socket string, ok bool) {
	url, err := client.ParseHostURL(r.client.DaemonHost())
	if err != nil || url.Scheme != "unix" {
		return "", false
	}
	_, err = os.Stat(url.Host)
	return url.Host, err == nil
}
