package simulation

import (
	"context"
	"net"
	"sync"
	"time"
)

// cable is the network between the agent and the running server. Like a kernel's socket it buffers bytes without
// blocking the sender. Create it with newCable.
type cable struct {
	mu      sync.Mutex
	moved   *sync.Cond       // whenever anything below changes
	servers map[string]*pipe // by address
	broken  bool
	held    bool // nothing is delivered
	conns   map[*cabled]bool
}

func newCable() *cable {
	c := &cable{conns: map[*cabled]bool{}, servers: map[string]*pipe{}}
	c.moved = sync.NewCond(&c.mu)
	return c
}

// plug connects the cable to another life of a server.
func (c *cable) plug(number int, server *pipe) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers[addressOf(number).String()] = server
}

func (c *cable) dial(ctx context.Context, _, address string) (net.Conn, error) {
	c.mu.Lock()
	server, broken := c.servers[address], c.broken || c.held
	if server == nil {
		server = c.servers[addressOf(0).String()] // the name under which machines join
	}
	c.mu.Unlock()
	if broken || server == nil {
		return nil, errRefused
	}
	conn, err := server.dial(ctx)
	if err != nil {
		return nil, err
	}
	near := &cabled{Conn: conn, cable: c}
	c.mu.Lock()
	c.conns[near] = true
	c.mu.Unlock()
	go near.receive()
	go near.deliver()
	return near, nil
}

// cut ends all connections, and refuses others until the cable is repaired.
func (c *cable) cut() {
	c.mu.Lock()
	c.broken = true
	conns := c.conns
	c.conns = map[*cabled]bool{}
	c.mu.Unlock()
	for conn := range conns {
		_ = conn.Close()
	}
}

// hold stops delivery until the cable is repaired; connections stay open.
func (c *cable) hold() { c.set(false, true) }

func (c *cable) repair() { c.set(false, false) }

func (c *cable) set(broken, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken, c.held = broken, held
	c.moved.Broadcast()
}

// cabled is a connection over the cable, as the agent sees it.
type cabled struct {
	net.Conn // to the server
	cable    *cable

	// in and out are the bytes in transit, to the agent and to the server; err is the reason why no more arrive.
	in, out []byte
	err     error
	closed  bool
}

// receive reads the bytes that the server sends.
func (c *cabled) receive() {
	buffer := make([]byte, 16<<10)
	for {
		n, err := c.Conn.Read(buffer)
		c.cable.mu.Lock()
		c.in, c.err = append(c.in, buffer[:n]...), err
		c.cable.moved.Broadcast()
		c.cable.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// deliver writes the agent's bytes to the server.
func (c *cabled) deliver() {
	for {
		c.cable.mu.Lock()
		for (len(c.out) == 0 || c.cable.held) && !c.closed {
			c.cable.moved.Wait()
		}
		bytes := c.out
		c.out = nil
		closed := c.closed
		c.cable.mu.Unlock()
		if closed {
			return
		}
		if _, err := c.Conn.Write(bytes); err != nil {
			_ = c.Close()
			return
		}
	}
}

// Read implements net.Conn.
func (c *cabled) Read(p []byte) (int, error) {
	c.cable.mu.Lock()
	defer c.cable.mu.Unlock()
	for (len(c.in) == 0 && c.err == nil || c.cable.held) && !c.closed {
		c.cable.moved.Wait()
	}
	if c.closed {
		return 0, net.ErrClosed
	}
	if len(c.in) == 0 {
		return 0, c.err
	}
	n := copy(p, c.in)
	c.in = c.in[n:]
	return n, nil
}

// Write implements net.Conn.
func (c *cabled) Write(p []byte) (int, error) {
	c.cable.mu.Lock()
	defer c.cable.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	c.out = append(c.out, p...)
	c.cable.moved.Broadcast()
	return len(p), nil
}

// Close implements net.Conn.
func (c *cabled) Close() error {
	c.cable.mu.Lock()
	delete(c.cable.conns, c)
	c.closed = true
	c.cable.moved.Broadcast()
	c.cable.mu.Unlock()
	return c.Conn.Close()
}

// SetDeadline implements net.Conn as a no-op: the agent doesn't depend on deadlines.
func (c *cabled) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn as SetDeadline does.
func (c *cabled) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn as SetDeadline does.
func (c *cabled) SetWriteDeadline(time.Time) error { return nil }
