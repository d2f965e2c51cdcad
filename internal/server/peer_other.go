//go:build !linux

package server

import "net"

// peerOf returns who is at the other end of a connection.
func peerOf(conn net.Conn) string {
	if _, ok := conn.(*net.UnixConn); ok {
		return "unix socket"
	}
	return "token from " + conn.RemoteAddr().String()
}
