package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"tend.dev/tend/internal/store"
)

// Store implements store.Store on an embedded member.
type Store struct {
	opts    Options
	member  *embed.Etcd
	client  *clientv3.Client
	unlock  func() error
	sockets string // a folder to remove at the end, or empty
	disk    *disk

	recovering sync.Mutex
	closed     atomic.Bool
	closeOnce  sync.Once
	closeErr   error
	// lifetime ends with Close; every call and watch lives within it.
	lifetime context.Context
	end      context.CancelFunc
}

var _ store.Store = (*Store)(nil)

// Open starts the member and waits until it serves.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opts.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	if err := os.Chmod(opts.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the data directory private: %w", err)
	}
	unlock, err := lock(opts.DataDir)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, unlock: unlock, disk: newDisk(opts)}
	s.lifetime, s.end = context.WithCancel(context.Background())
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.disk.keepBallast()
	return s, nil
}

func (s *Store) start(ctx context.Context) error {
	cfg, sockets, err := config(s.opts)
	s.sockets = sockets
	if err != nil {
		return err
	}
	if s.member, err = embed.StartEtcd(cfg); err != nil {
		return fmt.Errorf("start etcd in %s: %w", s.opts.DataDir, err)
	}
	timer := time.NewTimer(s.opts.ReadyTimeout)
	defer timer.Stop()
	select {
	case <-s.member.Server.ReadyNotify():
	case err := <-s.member.Err():
		return fmt.Errorf("start etcd in %s: %w", s.opts.DataDir, err)
	case <-timer.C:
		return fmt.Errorf("etcd in %s was not ready within %s", s.opts.DataDir, s.opts.ReadyTimeout)
	case <-ctx.Done():
		return fmt.Errorf("start etcd in %s: %w", s.opts.DataDir, ctx.Err())
	}
	s.client = v3client.New(s.member.Server)
	go s.watchMember()
	return nil
}

// watchMember tells when the member ends by itself.
func (s *Store) watchMember() {
	select {
	case err := <-s.member.Err():
		if err != nil && !s.closed.Load() {
			s.opts.OnFatal(fmt.Errorf("embedded etcd ended: %w", err))
		}
	case <-s.member.Server.StopNotify():
		if !s.closed.Load() {
			s.opts.OnFatal(errors.New("embedded etcd stopped"))
		}
	case <-s.lifetime.Done():
	}
}

// Close ends watches, flushes the log, frees the database and the lock. It is bounded by CloseTimeout.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.closed.Store(true)
		s.end()
		s.closeErr = errors.Join(s.stop(), s.unlock())
		if s.sockets != "" {
			_ = os.RemoveAll(s.sockets)
		}
	})
	return s.closeErr
}

func (s *Store) stop() error {
	if s.client != nil {
		_ = s.client.Close() // its context is the only thing it holds
	}
	if s.member == nil {
		return nil
	}
	done := make(chan struct{})
	go func() { s.member.Close(); close(done) }()
	timer := time.NewTimer(s.opts.CloseTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("close etcd: not done within %s: its log is replayed at the next start", s.opts.CloseTimeout)
	}
}

// SizeBytes is the database's size on disk.
func (s *Store) SizeBytes() int64 {
	info, err := os.Stat(filepath.Join(s.opts.DataDir, "member", "snap", "db"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// within joins a call's context with the store's life.
func (s *Store) within(ctx context.Context) (context.Context, func(), error) {
	if s.closed.Load() {
		return nil, nil, store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.lifetime, cancel)
	return ctx, func() { stop(); cancel() }, nil
}
