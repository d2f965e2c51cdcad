package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/internal/connlimit"
)

// Door is a listener and whether who comes in through it is trusted already: the unix socket's permissions did that.
type Door struct {
	Listener net.Listener
	Trusted  bool
}

// Serve answers at the doors until ctx ends; then it takes no more, ends watches, and waits for requests, commands and
// logs at most the drain time. It closes the doors in every case.
func (s *Server) Serve(ctx context.Context, doors ...Door) error {
	errs := make(chan error, len(doors))
	servers := make([]*http.Server, len(doors))
	for i, door := range doors {
		servers[i] = s.serverFor(door)
		go func() { errs <- servers[i].Serve(s.limited(door.Listener, servers[i], s.MaxConnections, "api")) }()
	}
	var failure error
	running := len(doors)
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
	defer time.AfterFunc(s.Drain*4/5, cut).Stop() // what is cut has the rest to say so
	ctx, cancel := context.WithTimeout(context.Background(), s.Drain)
	defer cancel()
	var wait sync.WaitGroup
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
	// Upgraded connections are not the http.Server's any more: they end by themselves, at the latest once cutting is closed.
	done := make(chan struct{})
	go func() { s.open.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return errors.Join(faults...)
}

func (s *Server) serverFor(door Door) *http.Server {
	return &http.Server{
		Handler:           s.Handler(door.Trusted),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if limited, ok := conn.(interface{ NetConn() net.Conn }); ok {
				conn = limited.NetConn()
			}
			return withActor(ctx, peerOf(conn))
		},
	}
}

// maxConnections is how many connections a listener has at most, where the files of the process allow it.
const maxConnections = 4096

// limited bounds the connections of a server's listener, so that no client uses up the files that the store and the ingress
// need too.
func (s *Server) limited(listener net.Listener, server *http.Server, total int, name string) net.Listener {
	return connlimit.New(listener, connlimit.Options{
		Total: total, Reclaim: func() { connlimit.CloseIdle(server) }, Name: name, Logger: s.Logger,
	})
}
