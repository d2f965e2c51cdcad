package simulation

import (
	"context"
	"errors"
	"net"
	"sync"
)

// pipe is a listener without a network: connections are made within the process, so they wait on nothing but the
// virtual clock.
type pipe struct {
	at    net.Addr
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipe() *pipe { return newPipeAt(&net.UnixAddr{Name: "simulation", Net: "unix"}) }

func newPipeAt(at net.Addr) *pipe {
	return &pipe{at: at, conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *pipe) Addr() net.Addr { return p.at }

var errRefused = errors.New("connection refused")

// dial connects to the listener.
func (p *pipe) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
