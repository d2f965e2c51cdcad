// Package server is the HTTP API: it turns requests into verbs and reads, and answers in the shapes of package api.
//
// It decides who gets access (the unix socket's own permissions; on loopback a token, the Host and the Origin), how
// much a request may send, and what status an error has. It never writes the store itself, never waits for containers,
// and reads only from the view. Typed endpoints are plain functions registered through huma, which documents and checks
// their parameters; streams (watch, logs, exec) are plain net/http.
//
//	s := server.New(server.Options{View: v, Verbs: verbs, Nodes: nodes, …})
//	unix, err := server.ListenUnix(filepath.Join(root, "tend.sock"), 0o660)
//	tcp, err := server.ListenLoopback("127.0.0.1:8686")
//	err = s.Serve(ctx, server.Endpoint{Listener: unix, Trusted: true}, server.Endpoint{Listener: tcp})
package server
