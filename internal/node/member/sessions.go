package member

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/remote"
	"tend.dev/tend/internal/node/nodeapi/session"
	"tend.dev/tend/internal/platform/recovery"
)

// askEvery is the interval between two questions for the servers there are; askFirst before the first answer: a server
// may be lost as soon as this machine has joined it.
const (
	askEvery = 10 * time.Second
	askFirst = 500 * time.Millisecond
	// askRotating is the interval while the authority is being rotated.
	askRotating = 2 * time.Second
)

// sessions keep a connection to every server, since any of them may request logs from this machine.
type sessions struct {
	Options
	who     *identity
	client  *remote.Client
	web     *http.Client
	servers *servers
	// keep answers the requests of a server until ctx ends.
	keep func(ctx context.Context, dial func(context.Context) (net.Conn, error)) error
}

// run works until ctx ends, or until a connection fails for good, whose error it returns.
func (s *sessions) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var running recovery.Group
	defer running.Wait()
	defer cancel(nil)
	kept := map[string]bool{}
	ticker := time.NewTicker(askFirst)
	defer ticker.Stop()
	for {
		for _, address := range s.servers.known() {
			if kept[address] {
				continue
			}
			kept[address] = true
			running.Go(func() {
				keep := func(ctx context.Context) error { return s.keep(ctx, s.dialer(address)) }
				if err := recovery.Keep(ctx, keep); err != nil && ctx.Err() == nil {
					cancel(err)
				}
			})
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); another(cause) {
				return cause
			}
			return nil
		case <-ticker.C:
		}
		switch {
		case !s.ask(ctx):
		case len(s.who.trust().Roots) > 1:
			ticker.Reset(askRotating)
		default:
			ticker.Reset(askEvery)
		}
	}
}

// ask learns the current servers, and renews the certificate if their authority is being rotated. It reports whether a
// server has answered.
func (s *sessions) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askEvery)
	defer cancel()
	known, roots, err := s.client.Servers(ctx, s.who.trust())
	if err == nil && s.servers.learn(known) {
		err = s.who.learn(s.servers.known())
	}
	renewed := false
	if err == nil {
		renewed, err = s.who.renewFor(ctx, s.web, roots)
	}
	if renewed && err == nil {
		s.Logger.InfoContext(ctx, "the certificate was renewed: the cluster's authority is rotated")
		_, _, err = s.client.Servers(ctx, s.who.trust()) // so that the server learns the new certificate
	}
	if err != nil {
		s.Logger.DebugContext(ctx, "the list of servers could not be read; retrying", "error", err)
	}
	return err == nil
}

// dialer returns a function that dials the connection on which the machine serves a server. A paused server must not
// reach an agent that still works from the state before the pause.
func (s *sessions) dialer(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		config, err := authority.FollowingTLS(s.who.roots, s.who.certificate, session.Protocol)
		if err != nil {
			return nil, err
		}
		raw, err := s.Dial(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		conn := tls.Client(raw, config)
		err = conn.HandshakeContext(ctx)
		if err == nil {
			err = s.client.Current(ctx)
		}
		if err != nil {
			_ = raw.Close()
			return nil, err
		}
		return session.Plain(conn), nil
	}
}
