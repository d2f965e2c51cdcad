package connlimit

import (
	"errors"
	"net"
)

// conn is a connection that counts until it is closed.
type conn struct {
	net.Conn
	release func()
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
