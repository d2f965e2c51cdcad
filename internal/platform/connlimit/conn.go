package connlimit

import (
	"container/list"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
)

// conn is a connection that counts until it is closed.
type conn struct {
	net.Conn
	release func()
	// listener and client are set if it counts for an address.
	listener *Listener
	client   netip.Prefix
	// waits is set until the head of the connection's first request has arrived; meanwhile place is its element in the
	// list of its address.
	waits atomic.Bool
	place *list.Element // guarded by the listener's mu
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite closes the sending side.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// NetConn returns the connection that was accepted, as tls.Conn's does.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Note tracks whether a connection has sent the head of a request; use it as http.Server.ConnState. Once an address has
// its share, its next connection closes the oldest one that has sent no request: so slow connections of one client
// don't shut out the others behind its address.
func Note(c net.Conn, state http.ConnState) {
	own := limited(c)
	switch {
	case own == nil || own.listener == nil:
	case state == http.StateNew:
		own.listener.await(own)
	case own.waits.Load():
		own.listener.heard(own)
	}
}

// limited returns the Listener's connection inside wrappers such as TLS, or nil.
func limited(c net.Conn) *conn {
	for {
		switch wrapped := c.(type) {
		case *conn:
			return wrapped
		case interface{ NetConn() net.Conn }: // TLS
			c = wrapped.NetConn()
		case interface{ Raw() net.Conn }: // the PROXY protocol
			c = wrapped.Raw()
		default:
			return nil
		}
	}
}

// await appends a connection to those of its address that have sent no request yet.
func (l *Listener) await(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting[c.client] == nil {
		l.waiting[c.client] = list.New()
	}
	c.place = l.waiting[c.client].PushBack(c)
	c.waits.Store(true)
}

// heard removes a connection from those that have sent no request yet.
func (l *Listener) heard(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heardLocked(c)
}

func (l *Listener) heardLocked(c *conn) {
	if !c.waits.Swap(false) {
		return
	}
	if l.waiting[c.client].Remove(c.place); l.waiting[c.client].Len() == 0 {
		delete(l.waiting, c.client)
	}
}

// makeWay closes the oldest connection of an address that has sent no request yet. It returns false if there is none.
func (l *Listener) makeWay(client netip.Prefix) bool {
	l.mu.Lock()
	var oldest *conn
	if waiting := l.waiting[client]; waiting != nil {
		oldest = waiting.Front().Value.(*conn)
		l.heardLocked(oldest)
	}
	l.mu.Unlock()
	if oldest == nil {
		return false
	}
	_ = oldest.Close()
	return true
}
