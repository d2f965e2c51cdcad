package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"tend.dev/tend/internal/platform/recovery"
)

// boot starts the member and waits until it serves.
func (s *Store) boot(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.ReadyTimeout,
		fmt.Errorf("not ready within %s: is the disk very slow, or its log very long? see etcd's log", s.opts.ReadyTimeout))
	defer cancel()
	err := s.markOpen(ctx)
	if err != nil {
		return err
	}
	s.cutTail()
	if s.sockets, err = openSockets(s.opts.DataDir); err != nil {
		return err
	}
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if s.member, err = s.start(ctx, cfg); err != nil {
		return err
	}
	s.client = v3client.New(s.member.Server)
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.enter(ctx)
}

// started is the result of StartEtcd.
type started struct {
	member *embed.Etcd
	err    error
}

// start runs StartEtcd in its own goroutine, because etcd may give up in the middle of it, and then it never returns.
// If it returns too late, that goroutine closes the result.
func (s *Store) start(ctx context.Context, cfg *embed.Config) (*embed.Etcd, error) {
	answer, abandoned := make(chan started), make(chan struct{})
	recovery.Go(func() {
		a := s.startEtcd(cfg)
		select {
		case answer <- a:
		case <-abandoned:
			if a.err == nil {
				a.member.Close()
			}
			_ = s.release()
		}
	})
	select {
	case a := <-answer:
		return a.member, a.err
	case err := <-s.failed:
		close(abandoned)
		return nil, err
	case <-ctx.Done():
		s.gaveUp.Store(true) // the goroutine releases the claims once etcd returns, which may be never
		close(abandoned)
		return nil, context.Cause(ctx)
	}
}

// startEtcd also recovers from a panic: a damaged database makes etcd's storage panic rather than return an error.
func (s *Store) startEtcd(cfg *embed.Config) (a started) {
	defer func() {
		if p := recover(); p != nil {
			s.gaveUp.Store(true) // etcd still holds the files it opened
			a = started{nil, fmt.Errorf("etcd gave up: panic: %v", p)}
		}
	}()
	member, err := embed.StartEtcd(cfg)
	return started{member, err}
}

func (s *Store) ready(ctx context.Context) error {
	select {
	case <-s.member.Server.ReadyNotify():
		return nil
	case err := <-s.failed:
		return err
	case err := <-s.member.Err():
		return s.whyStopped(fmt.Errorf("stopped at once: %w", err))
	case <-s.member.Server.StopNotify():
		return s.whyStopped(errors.New("stopped at once"))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
