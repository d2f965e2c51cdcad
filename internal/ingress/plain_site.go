package ingress

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/connlimit"
)

// plainSite serves a plain door. A connection's plain requests are passed on as they come (see conversation); from the first
// request on that asks for more, the connection is net/http's, with every byte that wasn't answered yet.
type plainSite struct {
	proxy  *Proxy
	server *http.Server
	handed *handed
	log    *slog.Logger

	closing  atomic.Bool // set under mu
	mu       sync.Mutex
	listener net.Listener
	open     map[*conversation]struct{}
	talking  sync.WaitGroup
}

func newPlainSite(proxy *Proxy, server *http.Server, log *slog.Logger) *plainSite {
	return &plainSite{
		proxy: proxy, server: server, log: log, open: map[*conversation]struct{}{},
		handed: &handed{conns: make(chan net.Conn), over: make(chan struct{})},
	}
}

// Serve accepts connections until Shutdown or Close.
func (s *plainSite) Serve(listener net.Listener) error {
	s.mu.Lock()
	s.listener, s.handed.address = listener, listener.Addr()
	ended := s.closing.Load()
	if ended {
		_ = listener.Close()
	} else {
		s.talking.Add(1)
		defer s.talking.Done()
	}
	s.mu.Unlock()
	if ended {
		return http.ErrServerClosed
	}
	go func() { _ = s.server.Serve(s.handed) }()
	pause := time.Duration(0)
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return http.ErrServerClosed
		case err != nil: // no file descriptors left, most likely: that passes
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.log.Warn("ingress can't accept a connection", "error", err, "pause", pause)
			select {
			case <-time.After(pause):
			case <-s.handed.over:
				return http.ErrServerClosed
			}
		default:
			pause = 0
			s.begin(conn)
		}
	}
}

func (s *plainSite) begin(conn net.Conn) {
	c := newConversation(s, conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = struct{}{}
	s.talking.Go(func() { s.talk(c) })
}

// talk follows one connection until it ends or is handed over.
func (s *plainSite) talk(c *conversation) {
	conn := c.conn
	if !s.follow(c) {
		_ = conn.Close()
		return
	}
	rest := c.rest()
	_ = conn.SetReadDeadline(time.Time{})
	s.handed.give(&replayed{Conn: conn, unread: rest})
}

// follow is run, for a connection that is open meanwhile. A panic ends that connection and no other.
func (s *plainSite) follow(c *conversation) (more bool) {
	defer func() {
		if fault := recover(); fault != nil {
			s.log.Error("ingress panicked", "fault", fault, "stack", string(debug.Stack()))
			more = false
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, c)
	}()
	return c.run()
}

// restTime is how long a connection may idle when others wait for its place.
const restTime = time.Second

// closeIdle closes connections that idle, for others to be accepted in their place: up to a few of those that it comes across.
func (s *plainSite) closeIdle() {
	const enough = 64
	closed, before := 0, time.Now().Add(-restTime).UnixNano()
	s.mu.Lock()
	for c := range s.open {
		if c.idleSince.Load() < before && c.dismiss() {
			if closed++; closed == enough {
				break
			}
		}
	}
	s.mu.Unlock()
	if closed == 0 {
		connlimit.CloseIdle(s.server)
	}
}

// ends says whether no further request is to be waited for.
func (s *plainSite) ends() bool { return s.closing.Load() }

// Shutdown accepts no more connections, closes those that wait for another request, and waits until the others were answered,
// or until ctx ends. One that hasn't made its first request yet has a moment to make it: most likely that is on its way.
func (s *plainSite) Shutdown(ctx context.Context) error {
	s.stop((*conversation).conclude)
	s.server.SetKeepAlivesEnabled(false)
	answered := make(chan struct{})
	go func() { defer close(answered); s.talking.Wait() }()
	select {
	case <-answered:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.server.Shutdown(ctx) // only now: connections were handed to it until here
}

// Close closes everything at once.
func (s *plainSite) Close() error {
	s.stop(func(c *conversation) { _ = c.conn.Close() })
	return s.server.Close()
}

func (s *plainSite) stop(each func(*conversation)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	if s.listener != nil {
		_ = s.listener.Close()
	}
	for c := range s.open {
		each(c)
	}
}

// handed is a listener of connections that somebody else accepted.
type handed struct {
	address net.Addr
	conns   chan net.Conn
	once    sync.Once
	over    chan struct{}
}

func (h *handed) give(conn net.Conn) {
	select {
	case h.conns <- conn:
	case <-h.over:
		_ = conn.Close()
	}
}

// Accept implements net.Listener.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.over:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handed) Close() error { h.once.Do(func() { close(h.over) }); return nil }

// Addr implements net.Listener.
func (h *handed) Addr() net.Addr { return h.address }

// replayed is a connection whose first bytes were read already.
type replayed struct {
	net.Conn
	unread []byte
}

func (r *replayed) Read(into []byte) (int, error) {
	if len(r.unread) == 0 {
		return r.Conn.Read(into)
	}
	n := copy(into, r.unread)
	if r.unread = r.unread[n:]; len(r.unread) == 0 {
		r.unread = nil
	}
	return n, nil
}

// CloseWrite lets net/http end its side first, so that a last answer isn't cut off.
func (r *replayed) CloseWrite() error { return halved(r.Conn) }
