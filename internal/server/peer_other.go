//go:build !linux

package server

import "net"

// peerOf describes the client of a connection: only Linux reports the user and the process at a unix socket.
func peerOf(conn net.Conn) string {
	if _, ok := conn.(*net.UnixConn); ok {
		return "unix socket"
	}
	return "token from " + conn.RemoteAddr().String()
}
