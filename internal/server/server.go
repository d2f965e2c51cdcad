package server

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/version"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Options are the dependencies of a Server. View and Verbs are needed.
type Options struct {
	View  *view.View
	Verbs *verbs.Service
	// Paths are the API's, see Register. Default: New registers them.
	Paths *Paths
	// Nodes holds the connected nodes. Logs, exec, stats and stop of pods on other nodes answer 503. Default: no node
	// is connected.
	Nodes *nodeapi.Fleet
	// Events is the log of changes, Audit the log of calls. Default: their paths answer 501.
	Events, Audit Log
	// Auditor records the calls that may change something. Default: none are recorded.
	Auditor Auditor
	// Blobs stores the files of assets. Default: none are accepted.
	Blobs Blobs
	// MaxBlob bounds one file, be it an asset's or a source tree's tar. Default api.MaxAssetBytes.
	MaxBlob int64
	// Plugins expands macros and runs commands. Default: no plugins.
	Plugins *broker.Broker
	// Join makes a token with which machines join, valid for ttl, and returns the address at which they connect. Default:
	// no machine can join.
	Join func(ctx context.Context, asked api.JoinTokenRequest, ttl time.Duration, by string) (api.JoinToken, error)
	// JoinTokens lists the tokens, and RevokeToken deletes one. Both are required if Join is set.
	JoinTokens  func() []api.JoinTokenInfo
	RevokeToken func(ctx context.Context, id string) error
	// InviteCluster makes a token with which the operator of a Kubernetes cluster registers. Default: no cluster can
	// register.
	InviteCluster func(ctx context.Context, name string, ttl time.Duration, newKeys bool) (api.ClusterRegistration, error)
	// ClusterLogs asks the Kubernetes cluster of an object for the output of its pods. token is the name of the caller's
	// access token, or empty. Default: no cluster can be asked.
	ClusterLogs func(ctx context.Context, token string, of api.Ref, asked pull.Query) (pull.Answer, error)
	// Servers returns the servers of the cluster, RemoveServer removes one. Default: only this one.
	Servers      func(ctx context.Context) api.Servers
	RemoveServer func(ctx context.Context, name string) error
	// Keys returns the keys that can be rotated, RotateKey begins a rotation. Default: none.
	Keys      func() []api.Key
	RotateKey func(ctx context.Context, name, by string) error
	// MAC is a keyed hash that makes the tokens of containers. Default: containers have no access.
	MAC func(plain []byte) string
	// Authority returns the certificate of the cluster's own authority, in PEM. Nil on a server without an ingress.
	Authority func(ctx context.Context) ([]byte, error)
	// Decode decodes manifests from a body; its errors are a *api.Problem or plain errors. Default: only JSON.
	Decode func(data []byte, contentType string) ([]api.Object, error)
	// Fresh returns once View has everything that any server stored before the call, or an error if that can't be
	// established. Default: View always has it.
	Fresh func(ctx context.Context) error
	// Missing returns the reasons why the server isn't ready. Default: only the view.
	Missing func() []string
	// Node is the server's own node, and Full returns the reason why the disk of its store accepts no writes. Default: the
	// disk has space.
	Node string
	Full func() string
	// Paused returns the reason for the cluster's pause, or ""; default: it isn't paused. Resume ends the pause.
	Paused func() string
	Resume func(ctx context.Context, unknown api.UnknownContainers) (api.ResumeResult, error)
	// TestSink sends a test as a sink does. Default: there are no sinks.
	TestSink func(ctx context.Context, sink api.Object) (api.SinkTest, error)
	// Backup writes a backup of the cluster; BackupStatus returns the results of scheduled ones. Default: no backups.
	Backup       func(ctx context.Context, w io.Writer) error
	BackupStatus func() api.BackupStatus
	// Registry gets the server's metrics and is served at /metrics. Default: a new one.
	Registry *prometheus.Registry
	// Gather adds the metrics of others in the process (etcd's families). Default: none.
	Gather prometheus.Gatherer
	// Token is the admin's token for untrusted listeners, besides access tokens. Default: only access tokens are valid.
	Token string
	// HostPaths are the host's folders that users without admin rights may mount. Default: none.
	HostPaths []string
	// Remote returns the URL at which other machines reach the server, and the fingerprint of the cluster's own authority
	// if that issues the certificate; empty texts without such a listener. Default: none.
	Remote func() (url, fingerprint string)
	// Local returns the URL at which programs of the server's machine reach it with a token; empty without such a
	// listener. Default: none.
	Local func() string
	// Alone is when the server was started, if it is alone. Default: it may be beside others, which hear nodes too.
	Alone time.Time
	// Version is reported at /version.
	Version string
	Commit  string
	// Drain bounds how long Serve waits for requests when it ends. Default 10 s.
	Drain time.Duration
	// Heartbeat is the time between the signs of life of an idle stream. Default 15 s.
	Heartbeat time.Duration
	// MaxUploads bounds the bytes of unreferenced files that one access token may have stored. Default 1 GiB, and room for
	// two of the largest.
	MaxUploads int64
	// MaxStreams bounds concurrent watches, waits, logs and execs. Default 1000. One access token has a tenth of them, all
	// together leave a tenth free.
	MaxStreams int
	// MaxConnections bounds the open connections of each listener; one address gets half of them (package connlimit).
	// Default 4096, or an eighth of the files that the process may open if that is fewer.
	MaxConnections int
	Logger         *slog.Logger
	// Tracer exports traces. Default: no traces.
	Tracer *tracing.Tracer
}

// Server answers the API. Make one with New.
type Server struct {
	// stale is the last read that waited for the store in vain; nil if none did.
	stale atomic.Pointer[staleness]
	Options
	mux *http.ServeMux
	api huma.API
	// patterns are the routes of mux, and rules the rights that each route requires.
	patterns []string
	rules    access.Table
	// sessions are the open requests with access tokens.
	sessions sessions
	metrics  *metrics
	// events caches the lately encoded events of watches.
	events encoded
	// streams counts the open streams. closing ends those that a client opens again by itself; cutting ends those that are
	// drained first.
	streams streams
	uploads uploads
	// measured holds the measurements of nodes' disks that are under way.
	measured singleflight.Group
	closing  chan struct{}
	cutting  chan struct{}
	once     sync.Once
	open     sync.WaitGroup
}

// Paths are the registered paths of the API, for one Server.
type Paths struct{ server *Server }

// Register registers the paths of the API for a server of a version. It takes some milliseconds of processor time and
// needs nothing of a server, so it can run while the store starts.
func Register(version string) *Paths {
	s := &Server{Options: Options{Version: version}, mux: http.NewServeMux(), rules: maps.Clone(access.Rules),
		closing: make(chan struct{}), cutting: make(chan struct{})}
	s.routes()
	return &Paths{s}
}

// New returns a Server, which runs nothing before Serve.
func New(opts Options) *Server {
	if opts.Decode == nil {
		opts.Decode = decodeJSON
	}
	if opts.Nodes == nil {
		opts.Nodes = &nodeapi.Fleet{}
	}
	opts.MaxBlob = cmp.Or(opts.MaxBlob, api.MaxAssetBytes)
	if opts.Full == nil {
		opts.Full = func() string { return "" }
	}
	if opts.Missing == nil {
		opts.Missing = func() []string { return nil }
	}
	if opts.Paused == nil {
		opts.Paused = func() string { return "" }
	}
	if opts.Registry == nil {
		opts.Registry = prometheus.NewRegistry()
	}
	opts.Registry.MustRegister(version.Metric(opts.Version, opts.Commit))
	if opts.Gather == nil {
		opts.Gather = prometheus.NewRegistry()
	}
	if opts.Drain <= 0 {
		opts.Drain = 10 * time.Second
	}
	if opts.Heartbeat <= 0 {
		opts.Heartbeat = 15 * time.Second
	}
	opts.MaxUploads = cmp.Or(opts.MaxUploads, maxUploads)
	if opts.MaxStreams <= 0 {
		opts.MaxStreams = 1000
	}
	if opts.MaxConnections <= 0 {
		opts.MaxConnections = connlimit.Within(connlimit.Files(), 8, maxConnections)
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.Paths == nil {
		opts.Paths = Register(opts.Version)
	}
	s := opts.Paths.server
	s.Options = opts
	s.metrics = newMetrics(opts.Registry)
	if s.View != nil {
		s.View.OnChange(s.sessions.follow)
	}
	return s
}

// snapshot returns the newest snapshot, or a problem while there is none.
func (s *Server) snapshot() (records.Snapshot, error) {
	snap := s.View.Snapshot()
	if snap.Revision() == 0 {
		return records.Snapshot{}, &api.Problem{Status: http.StatusServiceUnavailable,
			Detail: "the server has not read its store yet", Next: "try again in a moment; /readyz says what it waits for"}
	}
	return records.Snapshot{Reader: snap}, nil
}

// settle waits until this server's own reads see a write, before the write is answered. A lagging view is not the
// writer's fault: the wait is bounded and its outcome doesn't matter.
func (s *Server) settle(ctx context.Context, revision int64) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_ = s.View.WaitFor(ctx, revision)
}

func (s *Server) version() api.Version {
	return api.Version{Version: s.Version, Commit: s.Commit, GoVersion: runtime.Version(), API: "v1"}
}
