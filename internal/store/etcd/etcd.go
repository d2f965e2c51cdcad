package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"tend.dev/tend/internal/store"
)

// Store implements store.Store on an embedded member.
type Store struct {
	opts    Options
	member  *embed.Etcd
	client  *clientv3.Client
	unlock  func() error
	sockets *sockets
	disk    disk
	packing packing

	// lifetime ends with Close or when etcd gives up; its cause says which. Every call and watch lives within it.
	lifetime context.Context
	end      context.CancelCauseFunc
	// failed delivers, once, why etcd gave up. Its goroutines may be blocked from then on, with all they hold.
	failed chan error
	gaveUp atomic.Bool
	// serving is set once Open has succeeded.
	serving atomic.Bool

	// running counts the goroutines of watches and supervision; starting is locked to add one, and to prevent more.
	running   sync.WaitGroup
	starting  sync.Mutex
	closeOnce sync.Once
	closeErr  error
}

var _ store.Store = (*Store)(nil)

// Open starts the member and waits until it serves, no longer than ReadyTimeout. If the data dir is in use it returns
// ErrInUse at once.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := privateDir(opts.DataDir); err != nil {
		return nil, err
	}
	unlock, err := lock(opts.DataDir)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, unlock: unlock, disk: disk{opts}, failed: make(chan error, 1)}
	s.lifetime, s.end = context.WithCancelCause(context.Background())
	if err := s.boot(ctx); err != nil {
		return nil, fmt.Errorf("start etcd in %s: %w%s", opts.DataDir, errors.Join(err, s.Close()), s.disk.cure(err))
	}
	s.serving.Store(true)
	s.disk.keepBallast()
	s.spawn(s.supervise)
	return s, nil
}

// privateDir makes a folder only its owner may enter, also if it exists with wider permissions: the sockets in it need
// no password.
func privateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("keep the data directory private: %w", err)
	}
	return nil
}

// spawn runs f in a goroutine Close waits for, or returns false if the store has ended.
func (s *Store) spawn(f func()) bool {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.lifetime.Err() != nil {
		return false
	}
	s.running.Go(f)
	return true
}

// within joins a call's context with the store's lifetime.
func (s *Store) within(ctx context.Context) (context.Context, func(), error) {
	if s.lifetime.Err() != nil {
		return nil, nil, s.ended()
	}
	// etcd doesn't check for an ended context before it writes.
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.lifetime, cancel)
	return ctx, func() { stop(); cancel() }, nil
}

// ended returns why the store no longer serves: ErrClosed, and what made etcd give up.
func (s *Store) ended() error { return context.Cause(s.lifetime) }

// SizeBytes returns the database's size on disk.
func (s *Store) SizeBytes() int64 { return s.member.Server.Backend().Size() }
