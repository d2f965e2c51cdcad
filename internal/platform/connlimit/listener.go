package connlimit

import (
	"container/list"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// retryTime is the interval at which a full listener calls Reclaim.
const retryTime = time.Second

// acceptPause is the pause after a failed accept.
const acceptPause = 200 * time.Millisecond

// warnEvery is the interval between warnings about a listener.
const warnEvery = time.Minute

// Options bound a Listener. All fields but Total have a usable zero value.
type Options struct {
	// Total is the maximum number of open connections. At least 1.
	Total int
	// Exempt reports whether an address has no share: it may use the whole listener, such as a load balancer with many
	// clients behind it. Default: none is exempt. Connections without an IP address never have a share.
	Exempt func(netip.Addr) bool
	// Reclaim closes idle connections. It is called while the listener is full, and when an address has used its share.
	// Default: nothing is closed.
	Reclaim func()
	// Name is the listener's name in the log.
	Name   string
	Logger *slog.Logger
}

// Listener accepts connections within bounds. Create one with New.
type Listener struct {
	net.Listener
	opts   Options
	places chan struct{} // one element for each open connection, and one for the Accept under way
	closed chan struct{}
	once   sync.Once

	mu        sync.Mutex
	held      map[netip.Prefix]int        // open connections of each address; no entry is 0
	waiting   map[netip.Prefix]*list.List // connections that have sent no request yet, the oldest first; see Note
	warned    time.Time
	reclaimed time.Time
}

// New bounds a listener.
func New(l net.Listener, opts Options) *Listener {
	if opts.Exempt == nil {
		opts.Exempt = func(netip.Addr) bool { return false }
	}
	if opts.Reclaim == nil {
		opts.Reclaim = func() {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Listener{Listener: l, opts: opts, places: make(chan struct{}, max(opts.Total, 1)), closed: make(chan struct{}),
		held: map[netip.Prefix]int{}, waiting: map[netip.Prefix]*list.List{}}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		if err := l.takePlace(); err != nil {
			return nil, err
		}
		accepted, err := l.accept()
		if err != nil {
			<-l.places
			return nil, err
		}
		client, counted := l.client(accepted)
		if !counted {
			return &conn{Conn: accepted, release: sync.OnceFunc(func() { <-l.places })}, nil
		}
		if !l.admit(client) && !(l.makeWay(client) && l.admit(client)) {
			_ = accepted.Close()
			<-l.places
			l.warn("an address has its share of the listener's connections: its next ones are closed", "client", client.String())
			l.reclaim()
			continue
		}
		made := &conn{Conn: accepted, listener: l, client: client}
		made.release = sync.OnceFunc(func() { l.leave(made); <-l.places })
		return made, nil
	}
}

// accept accepts a connection. Only a closed listener ends it: other errors pass, such as too many open files or a
// network error of a connection that was never accepted, and a server would stop for most of them.
func (l *Listener) accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return accepted, err
		}
		l.warn("a connection could not be accepted; retrying", "error", err.Error())
		select {
		case <-time.After(acceptPause):
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

// takePlace waits for a free place.
func (l *Listener) takePlace() error {
	select {
	case l.places <- struct{}{}:
		return nil
	default:
	}
	l.warn("listener reached its limit of connections: clients wait", "connections", cap(l.places))
	retry := time.NewTicker(retryTime)
	defer retry.Stop()
	for {
		l.opts.Reclaim()
		select {
		case l.places <- struct{}{}:
			return nil
		case <-retry.C:
		case <-l.closed:
			return net.ErrClosed
		}
	}
}

// client returns the address that a connection counts for. It is false if there is no share.
func (l *Listener) client(c net.Conn) (netip.Prefix, bool) {
	remote, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	address := remote.AddrPort().Addr().Unmap().WithZone("")
	if !address.IsValid() || l.opts.Exempt(address) {
		return netip.Prefix{}, false
	}
	return Network(address), true
}

// Network returns the network that shares limits with an address: a single IPv4 address, or an IPv6 /64, which one host
// is usually given.
func Network(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, _ := address.Prefix(bits)
	return network
}

// admit counts a connection of client, and reports whether its share permits it. The connection has its place already.
func (l *Listener) admit(client netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held, free := l.held[client], cap(l.places)-len(l.places); held > free {
		return false
	}
	l.held[client]++
	return true
}

func (l *Listener) leave(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heardLocked(c)
	if l.held[c.client]--; l.held[c.client] == 0 {
		delete(l.held, c.client)
	}
}

// reclaim closes idle connections, but not for every refused connection.
func (l *Listener) reclaim() {
	if l.due(&l.reclaimed, retryTime) {
		l.opts.Reclaim()
	}
}

func (l *Listener) warn(message string, args ...any) {
	if l.due(&l.warned, warnEvery) {
		l.opts.Logger.Warn(message, append([]any{"listener", l.opts.Name, "address", l.Addr().String()}, args...)...) //nolint:sloglint // constants of its callers
	}
}

// due reports whether every has passed since last, and then sets last to now.
func (l *Listener) due(last *time.Time, every time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(*last) < every {
		return false
	}
	*last = now
	return true
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// CloseIdle closes the idle connections of a server.
func CloseIdle(server *http.Server) {
	server.SetKeepAlivesEnabled(false)
	server.SetKeepAlivesEnabled(true)
}
