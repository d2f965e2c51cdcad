// Package connlimit bounds the connections that a listener accepts: how many in total, and how many from one address.
//
// A listener with all its connections in use accepts no more until one closes; clients wait in the kernel's queue. One
// address holds at most as many connections as are still free, so a single client gets half of a listener, and there is
// always room for the next one. Beyond that, the oldest connection of the address that has sent no request yet makes
// way for the next one, or that is closed at once. An IPv6 client counts by its /64 network, since one host usually
// gets one.
//
// An error of accept other than that the listener is closed is not returned, because most servers stop after one: it is
// logged, and accept is retried.
//
// The package knows only connections. Their protocol, and which of them are idle, is the caller's concern:
//
//	server := &http.Server{Handler: handler, ConnState: connlimit.Note}
//	listener = connlimit.New(listener, connlimit.Options{Total: 1024, Reclaim: func() { connlimit.CloseIdle(server) }})
//	err := server.Serve(listener)
package connlimit
