package docker

import (
	"context"
	"net"
	"os"
	"strconv"

	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// buildSession is the connection over which BuildKit asks for credentials and secrets during a build.
type buildSession struct {
	*session.Session
	ended chan struct{}
}

// openSession opens a session with the engine's BuildKit. It returns nil if the engine has none.
func (r *Runtime) openSession(ctx context.Context, spec runtime.BuildSpec) (*buildSession, error) {
	if has, err := r.hasBuildKit(ctx); err != nil || !has {
		return nil, err
	}
	opened, err := session.NewSession(ctx, "")
	if err != nil {
		return nil, err
	}
	values := make(map[string][]byte, len(spec.Secrets))
	for id, value := range spec.Secrets {
		values[id] = []byte(value)
	}
	opened.Allow(secretsprovider.FromMap(values))
	logins, err := r.loginsFor(spec)
	if err != nil {
		return nil, err
	}
	opened.Allow(logins)
	s, dialled := &buildSession{Session: opened, ended: make(chan struct{})}, make(chan error, 1)
	recovery.Go(func() {
		defer close(s.ended)
		err := recovery.Call(func() error {
			return opened.Run(ctx, func(ctx context.Context, proto string, meta map[string][]string) (net.Conn, error) {
				conn, err := r.client.DialHijack(ctx, "/session", proto, meta)
				dialled <- err
				return conn, err
			}) // only the dialer's error makes it fail
		})
		select {
		case dialled <- err: // it panicked before it dialled
		default:
		}
	})
	switch err := <-dialled; {
	case err == nil:
		return s, nil
	case ctx.Err() != nil || unavailable(err):
		return nil, err
	}
	return nil, nil // an engine that only speaks Docker's API refuses the upgrade
}

// hasBuildKit reports whether to build with BuildKit. DOCKER_BUILDKIT decides, as it does for the docker command, else
// the builder that the engine reports. An engine that reports none is older than BuildKit as the default, but may have
// it.
func (r *Runtime) hasBuildKit(ctx context.Context) (bool, error) {
	if wanted, err := strconv.ParseBool(os.Getenv("DOCKER_BUILDKIT")); err == nil {
		return wanted, nil
	}
	ping, err := r.client.Ping(ctx, client.PingOptions{})
	return ping.BuilderVersion != build.BuilderV1 && ping.OSType != "windows", err
}

func (s *buildSession) end() {
	_ = s.Close() // it always returns nil
	<-s.ended
}
