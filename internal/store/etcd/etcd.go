package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/server/v3/embed"

	"tend.dev/tend/internal/store"
)

// Store implements store.Store on an embedded member.
type Store struct {
	calls
	opts    Options
	member  *embed.Etcd
	unlock  func() error
	sockets *sockets
	disk    disk
	stall   stall
	packing packing

	// failed delivers, once, why etcd gave up. Its goroutines may be blocked from then on, with all they hold.
	failed chan error
	gaveUp atomic.Bool
	// serving is set once Open has succeeded.
	serving atomic.Bool
	// removed is set once another member has reported that this one was removed.
	removed   atomic.Bool
	elections elections

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
	s.stall.dir = opts.DataDir
	s.calls.begin(s.Quorum, s.stall.err)
	if err := s.boot(ctx); err != nil {
		return nil, fmt.Errorf("start etcd in %s: %w%s", opts.DataDir, errors.Join(err, s.Close()), s.disk.cure(err))
	}
	s.serving.Store(true)
	s.disk.keepBallast()
	s.spawn(s.supervise)
	s.spawn(s.probeDisk)
	s.spawn(s.followElections)
	return s, nil
}

// privateDir makes a folder that only its owner may enter. It narrows the permissions of an existing folder: the
// sockets in it need no password.
func privateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("keep the data directory private: %w", err)
	}
	return nil
}

// SizeBytes returns the database's size on disk.
func (s *Store) SizeBytes() int64 { return s.member.Server.Backend().Size() }
