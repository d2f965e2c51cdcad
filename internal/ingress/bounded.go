package ingress

import (
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxConnections is how many connections a door has at most: each may need another one to a pod.
const maxConnections = 16 << 10

// connectionsWithin is how many connections a door has where the process may open so many files: a quarter of them, since there
// are two doors, and pods to connect to.
func connectionsWithin(files uint64) int {
	return int(max(min(files/4, maxConnections), 16))
}

// bounded is a listener that accepts no more connections than it has places for: who comes then waits in the kernel's queue,
// and connections that idle are closed for them.
type bounded struct {
	net.Listener
	places  chan struct{}
	relieve func()
	over    chan struct{}
	once    sync.Once
	log     *slog.Logger
	told    time.Time
}

func newBounded(l net.Listener, places int, log *slog.Logger) *bounded {
	return &bounded{Listener: l, places: make(chan struct{}, places), over: make(chan struct{}), log: log}
}

// Accept implements net.Listener. One at a time calls it.
func (b *bounded) Accept() (net.Conn, error) {
	if err := b.place(); err != nil {
		return nil, err
	}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &placed{Conn: conn, leave: sync.OnceFunc(func() { <-b.places })}, nil
}

// place waits for a free place.
func (b *bounded) place() error {
	select {
	case b.places <- struct{}{}:
		return nil
	default:
	}
	if now := time.Now(); now.Sub(b.told) > time.Minute {
		b.told = now
		b.log.Warn("ingress has all the connections it may have: others wait", "address", b.Addr().String(), "connections", cap(b.places))
	}
	again := time.NewTicker(restTime)
	defer again.Stop()
	for {
		b.relieve()
		select {
		case b.places <- struct{}{}:
			return nil
		case <-again.C:
		case <-b.over:
			return net.ErrClosed
		}
	}
}

// Close implements net.Listener.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.over) })
	return b.Listener.Close()
}

// placed is a connection that has a place.
type placed struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (p *placed) Close() error {
	defer p.leave()
	return p.Conn.Close()
}

// CloseWrite ends one side of it.
func (p *placed) CloseWrite() error { return halved(p.Conn) }

// relieve has a server close the connections that idle.
func relieve(server *http.Server) {
	server.SetKeepAlivesEnabled(false)
	server.SetKeepAlivesEnabled(true)
}
