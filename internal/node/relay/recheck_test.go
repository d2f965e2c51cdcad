package relay_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/relay"
)

// deaf accepts connections whose callers take nothing any more once full is closed: a write then closes waits, and
// blocks until its connection or over is closed.
type deaf struct {
	net.Listener
	full, waits, over chan struct{}
	once              sync.Once
}

type deafConn struct {
	net.Conn
	of     *deaf
	closed chan struct{}
	once   sync.Once
}

func (d *deaf) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &deafConn{Conn: conn, of: d, closed: make(chan struct{})}, nil
}

func (c *deafConn) Write(text []byte) (int, error) {
	select {
	case <-c.of.full:
	default:
		return c.Conn.Write(text)
	}
	select {
	case <-c.closed:
		return 0, net.ErrClosed
	default:
	}
	c.of.once.Do(func() { close(c.of.waits) })
	select {
	case <-c.closed:
	case <-c.of.over:
	}
	return 0, net.ErrClosed
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// TestRecheckWaitsForNoCaller: a caller that takes nothing any more holds up neither Recheck nor, by its mutex, the
// connections of others.
func TestRecheckWaitsForNoCaller(t *testing.T) {
	c := newCluster(t)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &deaf{Listener: inner, full: make(chan struct{}), waits: make(chan struct{}), over: make(chan struct{})}
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pod.Close()
	may := make(chan error, 1)
	may <- nil
	far := relay.New(relay.Options{Own: c.own(there),
		May: func(authority.Machine, string, int, string) error {
			why := <-may
			may <- why
			return why
		},
		Endpoint: func(string, int, string) (string, error) { return pod.Addr().String(), nil }})
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- far.Run(ctx, listener) }()
	conn, err := relay.Open(t.Context(), c.own(here), c.dial(inner.Addr().String()), target("web", 8080))
	if err != nil {
		t.Fatal(err)
	}
	at, err := pod.Accept()
	if err == nil {
		defer at.Close()
		_, err = conn.Write([]byte("x"))
	}
	if err == nil {
		_, err = io.ReadFull(at, make([]byte, 1)) // the relay has written its answer
	}
	if err != nil {
		t.Fatal(err)
	}
	close(listener.full)
	<-may
	may <- errors.New("removed")
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		far.Recheck()
	}()
	select {
	case <-checked:
	case <-listener.waits:
		t.Error("it waits for a caller that takes nothing")
		close(listener.over)
	}
	<-checked
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still there")
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAPodThatReadsNothing: the connections to it end as others do.
func TestAPodThatReadsNothing(t *testing.T) {
	c := newCluster(t)
	f := c.far()
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pod.Close()
	f.mu.Lock()
	f.pods["web"] = pod.Addr().String()
	f.mu.Unlock()
	conn, err := relay.Open(t.Context(), c.own(here), c.dial(f.address), target("web", 8080))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // by then all buffers on the way are full
	for err == nil {
		_, err = conn.Write(make([]byte, 1<<20))
	}
	f.set(here, errors.New("removed"))
	f.Recheck()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := f.Drained(ctx, "web"); err != nil {
		t.Error(err)
		_ = pod.Close()
	}
}
