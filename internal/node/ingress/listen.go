package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/pires/go-proxyproto"

	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/portowner"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/platform/servicemanager"
)

// ListenOptions make Listeners.
type ListenOptions struct {
	// HTTP and HTTPS are addresses such as :80. An empty one opens no listener.
	HTTP, HTTPS string
	// Handler serves plain requests, Secure those over TLS.
	Handler, Secure http.Handler
	TLS             *tls.Config
	// Balancers are the networks of load balancers that announce the client's address by the PROXY protocol (1 or 2).
	// Connections from elsewhere are used as they are.
	Balancers []netip.Prefix
	// Trusted are the networks of proxies behind which many clients stand: each may use a whole listener.
	Trusted []netip.Prefix
	// Sockets outlive the process. A listener uses the socket of its address, or hands its own over to be kept. Default:
	// none.
	Sockets *servicemanager.Sockets
	// Connections is the maximum number of connections of a listener; further ones wait to be accepted. Default:
	// maxConnections, or a quarter of the files that the process may open if that is fewer. There are two listeners, and
	// each connection may need another one to a pod.
	Connections int
	// Changed is called after a listener was opened, was closed or could not be opened. It must not block.
	Changed func()
	Logger  *slog.Logger
}

// maxConnections is the highest default for the connections of a listener: each may need another one to a pod.
const maxConnections = 16 << 10

// How long a client may take to send a request's head, and until its next request.
const (
	headTime = 10 * time.Second
	idleTime = 2 * time.Minute
)

// stallTime bounds how long a client may accept none of the data sent to it.
const stallTime = 2 * time.Minute

// Listeners are the listeners of a proxy, one plain and one with TLS. They open when there are routes for them, and
// retry if another program holds the port. Create them with NewListeners; they run once.
type Listeners struct {
	opts  ListenOptions
	plain *listener
	tls   *listener
}

// NewListeners returns listeners that are closed and not wanted.
func NewListeners(opts ListenOptions) *Listeners {
	opts.fill()
	l := &Listeners{opts: opts}
	l.plain = newListener(opts, opts.HTTP, opts.Handler, nil)
	l.tls = newListener(opts, opts.HTTPS, opts.Secure, opts.TLS)
	return l
}

// fill sets the defaults.
func (o *ListenOptions) fill() {
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Connections == 0 {
		o.Connections = connlimit.Within(connlimit.Files(), 4, maxConnections)
	}
}

// Want sets which listeners should be open.
func (l *Listeners) Want(plain, secure bool) {
	l.plain.want(plain)
	l.tls.want(secure)
}

// Listeners returns the states of the plain and the secure listener.
func (l *Listeners) States() (plain, secure ListenerState) { return l.plain.state(), l.tls.state() }

// Run serves until ctx ends; then requests under way have up to ten seconds.
func (l *Listeners) Run(ctx context.Context) error {
	var both recovery.Group
	for _, d := range []*listener{l.plain, l.tls} {
		both.Go(func() { d.run(ctx) })
	}
	both.Wait()
	return nil
}

// listener is one listener with its server.
type listener struct {
	ListenOptions
	*kept
	asked   string // the configured address
	handler http.Handler
	secure  *tls.Config
	stall   time.Duration
	head    time.Duration
}

func newListener(opts ListenOptions, address string, handler http.Handler, secure *tls.Config) *listener {
	d := &listener{ListenOptions: opts, asked: address, handler: handler, secure: secure, stall: stallTime, head: headTime}
	d.kept = newKept(address, opts, func(context.Context, string) (opened, string, error) { return d.open() })
	d.left = func() { opts.Sockets.DropAddress(d.state().Address) }
	return d
}

func (d *listener) want(wanted bool) {
	if d.asked == "" {
		wanted = false
	} else if d.Sockets.Lent(d.asked) { // it stays open anyway: a client learns that its host is not served
		wanted = true
	}
	d.kept.want(wanted)
}

// open opens the listener and begins to serve.
func (d *listener) open() (*serving, string, error) {
	listener, err := d.listen()
	if err != nil {
		return nil, "", err
	}
	address := listener.Addr().String()
	server := &http.Server{
		Handler: d.handler, ReadHeaderTimeout: d.head, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(d.Logger.Handler(), slog.LevelDebug), Protocols: protocols(), TLSConfig: d.secure,
	}
	made := &serving{Server: server, done: make(chan struct{}), first: newcomers{waiting: map[net.Conn]bool{}}}
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		made.first.note(conn, state)
		connlimit.Note(conn, state)
	}
	serve := server.Serve
	if d.secure != nil {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	listener = connlimit.New(listener, connlimit.Options{
		Total: d.Connections, Exempt: d.manyBehind, Reclaim: func() { connlimit.CloseIdle(server) },
		Name: "ingress", Logger: d.Logger,
	})
	if len(d.Balancers) > 0 {
		listener = announcing{&proxyproto.Listener{Listener: listener, ConnPolicy: d.policy, ReadHeaderTimeout: d.head}}
	}
	made.listener = listener
	recovery.Go(func() {
		defer close(made.done)
		if err := serve(listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			d.Logger.Error("ingress stopped serving", "address", address, "error", err)
		}
	})
	return made, address, nil
}

// listen uses an inherited socket, or opens one.
func (d *listener) listen() (net.Listener, error) {
	config := net.ListenConfig{Control: letGo(d.stall)}
	socket := d.Sockets.Find(d.asked)
	if socket == nil {
		listener, err := config.Listen(context.Background(), "tcp", d.state().Address)
		if err == nil {
			d.Sockets.Keep(d.asked, listener)
		}
		return listener, portowner.Named(err)
	}
	if raw, err := socket.SyscallConn(); err == nil && config.Control != nil {
		if err := config.Control("", "", raw); err != nil { // another kind of socket, such as multipath TCP
			d.Logger.Warn("ingress can't close connections of clients that stopped reading", "address", d.asked, "error", err)
		}
	}
	return net.FileListener(socket)
}

// serving is the server of an open listener.
type serving struct {
	*http.Server
	listener net.Listener
	first    newcomers
	done     chan struct{} // closed once no more connections are accepted
}

func (server *serving) shut() {
	_ = server.listener.Close()
	<-server.done
	server.SetKeepAlivesEnabled(false) // this closes idle connections
	server.first.conclude()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}

// protocols returns the protocols of a listener: HTTP/1.1, HTTP/2, and HTTP/2 without TLS by prior knowledge, as gRPC
// clients use it.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}
