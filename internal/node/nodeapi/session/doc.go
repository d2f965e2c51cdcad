// Package session is the server's way to the containers of a node: logs, commands, samples and lists. The node dials a
// connection for it and answers requests on it, so it never needs to be dialled itself. Each request is a stream of
// HTTP/2 with its own flow control.
package session
