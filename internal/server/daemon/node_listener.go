package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/node/nodeapi/remote"
	"tend.dev/tend/internal/node/nodeapi/session"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/portowner"
	"tend.dev/tend/internal/platform/routemux"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// nodeListener is the listener for the agents of other machines.
type nodeListener struct {
	listener net.Listener
	server   *http.Server
	desk     join.Desk
	// patterns are those of all requests that it answers.
	patterns []string
}

// The limits of a node's requests. Streams last as long as they are used.
const (
	nodeHeaderTime = 10 * time.Second
	maxNodeConns   = 4096
	// unreadBody bounds the bytes of bodies that a connection accepts before a handler reads them.
	unreadBody = 128 << 10
)

// openGate opens the listener for nodes, if the options ask for one.
func (d *daemon) openGate(ctx context.Context) error {
	listener := d.Nodes
	if listener == nil && d.NodeListen == "" {
		return nil
	}
	ca, err := openAuthority(ctx, d.store, d.keys, d.cluster.UID, d.Now)
	if err != nil {
		return err
	}
	if listener == nil {
		if listener, err = net.Listen("tcp", d.NodeListen); err != nil {
			return portowner.Refused(d.NodeListen, "--node-listen", err)
		}
		d.onStop(func() error { _ = listener.Close(); return nil })
	}
	d.joining = make(chan struct{}, 1)
	l := &nodeListener{desk: join.Desk{Authority: ca, Cluster: d.cluster.UID, Enter: d.enter, Member: d.member,
		Joined: d.auditJoin}}
	if d.several() {
		l.desk.Admit = d.admit
	}
	mux := routemux.New()
	l.desk.Register(mux)
	mux.Handle(remote.Prefix, remote.NewHandler(remote.HandlerOptions{
		Service: d.nodes, Node: d.memberOf, Callbacks: d.server.Callbacks, Paused: d.pause.why, Logger: d.Logger,
		Current: d.current, Fresh: d.caughtUp, Servers: d.addresses, Roots: d.roots, Tracer: d.Tracer,
	}))
	d.clusters = d.newClusters()
	mux.Handle(pull.Prefix, d.clusters)
	mux.Handle(peer.FilesPath, peer.Files(d.files.open))
	mux.Handle("GET "+peer.RevisionPath, peer.Revision(d.view.Revision))
	l.patterns = mux.Patterns()
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	l.server = &http.Server{
		Handler: l.desk.Guard(d.whenRead(mux)), Protocols: protocols,
		HTTP2: &http.HTTP2Config{
			MaxDecoderHeaderTableSize: boundary.HeaderTable, MaxEncoderHeaderTableSize: boundary.HeaderTable,
			MaxConcurrentStreams: boundary.Streams, MaxReceiveBufferPerConnection: unreadBody,
			MaxReceiveBufferPerStream: unreadBody,
		},
		ReadHeaderTimeout: nodeHeaderTime, MaxHeaderBytes: 64 << 10,
		ConnContext: d.links.inContext,
		ConnState: func(conn net.Conn, state http.ConnState) {
			connlimit.Note(conn, state)
			d.links.ended(conn, state)
		},
		TLSConfig: ca.TLS(renewing(d.Now, ca.Fingerprint, ca.Server), session.Protocol),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){
			session.Protocol: session.Accept(&d.fleet, d.memberOn, d.Logger),
		},
		ErrorLog: slog.NewLogLogger(d.Logger.Handler(), slog.LevelDebug),
	}
	l.listener = connlimit.New(listener, connlimit.Options{
		Total: connlimit.Within(connlimit.Files(), 4, maxNodeConns), Reclaim: func() { connlimit.CloseIdle(l.server) },
		Name: "nodes", Logger: d.Logger,
	})
	d.nodeListener = l
	return nil
}

// run serves nodes until ctx ends.
func (l *nodeListener) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = l.server.Close() })
	defer stop()
	if err := l.server.ServeTLS(l.listener, "", ""); ctx.Err() == nil || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// openAuthority reads the cluster's authority of nodes from the store, or creates it on the first use.
func openAuthority(
	ctx context.Context, s store.Store, keys *secret.Keys, cluster string, now func() time.Time,
) (*authority.Authority, error) {
	entry, err := s.Get(ctx, records.AuthorityKey)
	if err == nil {
		text, err := keys.Decrypt(entry.Value)
		if err != nil {
			return nil, fmt.Errorf("the authority of nodes: %w", err)
		}
		return authority.Open(text, now)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read the authority of nodes: %w", err)
	}
	ca, err := authority.Found("Tend nodes of "+cluster, now)
	if err != nil {
		return nil, err
	}
	text, err := ca.Encode()
	if err != nil {
		return nil, err
	}
	sealed, err := keys.Encrypt(text)
	if err != nil {
		return nil, err
	}
	_, err = records.NewTxn("authority.found").If(records.AuthorityKey, 0).Put(records.AuthorityKey, sealed).Commit(ctx, s)
	if errors.Is(err, store.ErrConflict) { // another server has founded it meanwhile
		return openAuthority(ctx, s, keys, cluster, now)
	}
	if err != nil {
		return nil, fmt.Errorf("store the authority of nodes: %w", err)
	}
	return ca, nil
}

// The lifetime of a server's certificate, and the remaining time at which it is renewed.
const (
	serverLife  = 90 * 24 * time.Hour
	serverRenew = 30 * 24 * time.Hour
)

// renewing returns a certificate for each handshake: the last issued one, until it is due for renewal or another
// authority issues. One that was issued while the clock was ahead is not used either: no other machine accepts it yet.
func renewing(
	now func() time.Time, issuer func() string, issue func(life time.Duration) (tls.Certificate, error),
) func() (*tls.Certificate, error) {
	var mu sync.Mutex
	var current *tls.Certificate
	var from time.Time
	var issuedBy string
	return func() (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		by, at := issuer(), now().Round(0) // by the wall clock
		if age := at.Sub(from); current != nil && 0 <= age && age < serverLife-serverRenew && issuedBy == by {
			return current, nil
		}
		issued, err := issue(serverLife)
		if err != nil {
			return nil, err
		}
		current, from, issuedBy = &issued, at, by
		return current, nil
	}
}

// nodeAddress returns the address at which nodes, and other servers, reach the listener for nodes.
func (d *daemon) nodeAddress() string {
	return reachable(d.nodeListener.listener.Addr().String(), d.peerHost)
}

// ownNode returns the certificate of this server's own node; nil if the server takes no other nodes.
func (d *daemon) ownNode() *authority.Own {
	if d.Nodes == nil && d.NodeListen == "" {
		return nil
	}
	// the listener is opened after the host, and before anything runs
	issuer := func() string { return d.nodeListener.desk.Authority.Fingerprint() }
	issue := func(life time.Duration) (tls.Certificate, error) {
		return d.nodeListener.desk.Authority.Client(authority.Machine{Node: d.Node}, life)
	}
	return &authority.Own{Certificate: renewing(d.Now, issuer, issue),
		Roots: func() []byte { return d.nodeListener.desk.Authority.PEM() }, Now: d.Now}
}

// outside returns where other nodes reach this machine: where it listens for them, or has the default route. Invalid if
// no other machine does.
func (d *daemon) outside() netip.Addr {
	if d.nodeListener == nil {
		return netip.Addr{}
	}
	listens, err := netip.ParseAddrPort(d.nodeListener.listener.Addr().String())
	address := listens.Addr().Unmap()
	if err != nil || address.IsLoopback() {
		return netip.Addr{}
	}
	if !address.IsUnspecified() {
		return address
	}
	if known, err := netip.ParseAddr(d.peerHost); err == nil && !known.IsUnspecified() {
		return known
	}
	// an address of RFC 5737: no packet is sent
	probe, err := (&net.Dialer{}).DialContext(context.Background(), "udp", "192.0.2.1:9")
	if err != nil {
		return netip.Addr{}
	}
	defer probe.Close()
	own, _ := netip.ParseAddrPort(probe.LocalAddr().String())
	return own.Addr().Unmap()
}

// reachable returns an address for other machines: an address of all interfaces gets the machine's name, by default its
// host name.
func reachable(address, name string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip != nil && !ip.IsUnspecified() {
		return address
	}
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return address
		}
	}
	return net.JoinHostPort(name, port)
}
