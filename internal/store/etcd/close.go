package etcd

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
)

// supervise reports, once, that the member gave up or ended by itself.
func (s *Store) supervise() {
	var err error
	select {
	case <-s.lifetime.Done():
		return
	case err = <-s.failed:
	case err = <-s.member.Err():
		err = s.whyStopped(fmt.Errorf("etcd stopped serving: %w", err))
	case <-s.member.Server.StopNotify():
		err = s.whyStopped(errors.New("etcd stopped by itself"))
	}
	if s.lifetime.Err() != nil {
		return // it was Close
	}
	s.end(fmt.Errorf("%w: %w", store.ErrClosed, err))
	s.opts.OnFatal(err)
}

// ErrRemoved means that the other servers have removed this member.
var ErrRemoved = errors.New("this server was removed from its cluster")

// whyStopped returns the reason why the member has stopped by itself.
func (s *Store) whyStopped(otherwise error) error {
	if s.Removed() {
		return ErrRemoved
	}
	return otherwise
}

// Removed reports whether this member has learned that it was removed.
func (s *Store) Removed() bool {
	members, ok := s.member.Server.Cluster().(interface{ IsIDRemoved(id types.ID) bool })
	return s.removed.Load() || ok && members.IsIDRemoved(s.member.Server.MemberID())
}

// fail is called on goroutines of etcd, with its locks held: it only hands over the error.
func (s *Store) fail(err error) {
	s.gaveUp.Store(true)
	select {
	case s.failed <- err:
	default: // the first reason is the one that matters
	}
}

// Close ends watches and calls, flushes the log and releases the data dir. It is bounded by CloseTimeout. After etcd
// gave up there is nothing to flush, and the data dir stays locked until the process ends: etcd may still hold its
// files.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.starting.Lock()
		s.end(store.ErrClosed)
		s.starting.Unlock()
		if s.gaveUp.Load() {
			return
		}
		s.closeErr = s.stop()
	})
	return s.closeErr
}

func (s *Store) stop() error {
	done := make(chan error, 1)
	recovery.Go(func() {
		s.running.Wait()
		if s.client != nil {
			_ = s.client.Close() // a context is all that the client holds
		}
		if s.member != nil {
			s.member.Close()
			_ = s.markClosed() // if the mark stays, the next start checks the database
		}
		done <- s.release()
	})
	timer := time.NewTimer(s.opts.CloseTimeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("close etcd in %s: not done within %s: its log is replayed at the next start",
			s.opts.DataDir, s.opts.CloseTimeout)
	}
}

// release releases the claims of Open.
func (s *Store) release() error { return errors.Join(s.sockets.close(), s.unlock()) }
