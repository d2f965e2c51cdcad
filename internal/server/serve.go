package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/recovery"
)

// Endpoint is a listener of the server.
type Endpoint struct {
	Listener net.Listener
	// Trusted is set if the clients are trusted already, by the unix socket's permissions.
	Trusted bool
	// TLS is set for a listener that other machines reach: it answers nothing without TLS.
	TLS *tls.Config
}

func (e Endpoint) kind() listenerKind {
	switch {
	case e.TLS != nil:
		return remoteListener
	case e.Trusted:
		return socketListener
	}
	return loopbackListener
}

// Serve answers on the listeners until ctx ends. Then it accepts no more, ends watches, and waits at most the drain
// time for requests, commands and logs. It closes the listeners in every case.
func (s *Server) Serve(ctx context.Context, endpoints ...Endpoint) error {
	errs := make(chan error, len(endpoints))
	servers := make([]*http.Server, len(endpoints))
	for i, endpoint := range endpoints {
		servers[i] = s.serverFor(endpoint)
		limited := s.limited(endpoint.Listener, servers[i], s.MaxConnections, "api")
		recovery.Go(func() { errs <- recovery.Call(func() error { return serveOn(servers[i], limited) }) })
	}
	var failure error
	running := len(endpoints)
	select {
	case <-ctx.Done():
	case err := <-errs:
		running--
		failure = fmt.Errorf("serve: %w", err)
	}
	failure = errors.Join(failure, s.shutdown(servers))
	for range running {
		<-errs
	}
	return failure
}

func (s *Server) shutdown(servers []*http.Server) error {
	s.once.Do(func() { close(s.closing) })
	cut := sync.OnceFunc(func() { close(s.cutting) })
	defer cut()
	defer time.AfterFunc(s.Drain*4/5, cut).Stop() // the rest of the time is for streams that are cut to end with a message
	ctx, cancel := context.WithTimeout(context.Background(), s.Drain)
	defer cancel()
	var wait recovery.Group
	faults := make([]error, len(servers))
	for i, server := range servers {
		wait.Go(func() {
			if err := server.Shutdown(ctx); err != nil {
				faults[i] = server.Close()
				s.Logger.Warn("requests were cut at the drain time", "drain", s.Drain, "error", err)
			}
		})
	}
	wait.Wait()
	// Upgraded connections no longer belong to the http.Server: they end by themselves, at the latest once cutting is
	// closed.
	done := make(chan struct{})
	recovery.Go(func() { s.open.Wait(); close(done) })
	select {
	case <-done:
	case <-ctx.Done():
	}
	return errors.Join(faults...)
}

// serveOn answers on a listener, over TLS if the server has a certificate.
func serveOn(server *http.Server, listener net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(listener, "", "")
	}
	return server.Serve(listener)
}

func (s *Server) serverFor(endpoint Endpoint) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // as on the other listeners: a WebSocket needs it
	return &http.Server{
		Handler:           s.handler(endpoint.kind()),
		Protocols:         protocols,
		TLSConfig:         endpoint.TLS,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnState:         connlimit.Note,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if limited, ok := conn.(interface{ NetConn() net.Conn }); ok {
				conn = limited.NetConn()
			}
			return withActor(ctx, peerOf(conn))
		},
	}
}

// maxConnections is the maximum number of connections of a listener, if the process may open enough files.
const maxConnections = 4096

// limited bounds the connections of a server's listener, so that no client uses up the file descriptors that the store
// and the ingress need too.
func (s *Server) limited(listener net.Listener, server *http.Server, total int, name string) net.Listener {
	return connlimit.New(listener, connlimit.Options{
		Total: total, Reclaim: func() { connlimit.CloseIdle(server) }, Name: name, Logger: s.Logger,
	})
}
