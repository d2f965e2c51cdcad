package etcd

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tend.dev/tend/internal/platform/recovery"
)

// calls are the methods of a store that need only etcd's client.
type calls struct {
	client *clientv3.Client
	// quorum returns store.ErrNoQuorum while nothing can be written.
	quorum func() error
	// stalled returns store.ErrStalled while the store's disk finishes no write.
	stalled func() error
	// remote is set for an etcd that is reached over the network.
	remote bool

	// lifetime ends with Close or when etcd gives up; its cause says which. Every call and watch lives within it.
	lifetime context.Context
	end      context.CancelCauseFunc
	// running counts the goroutines of watches and supervision; starting is locked to add one, and to prevent more.
	running  recovery.Group
	starting sync.Mutex
}

// begin opens the store's lifetime, with its checks of the quorum and of a stalled disk.
func (s *calls) begin(quorum, stalled func() error) {
	s.quorum, s.stalled = quorum, stalled
	s.lifetime, s.end = context.WithCancelCause(context.Background())
}

// spawn runs f in a goroutine Close waits for, or returns false if the store has ended.
func (s *calls) spawn(f func()) bool {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.lifetime.Err() != nil {
		return false
	}
	s.running.Go(f)
	return true
}

// within joins a call's context with the store's lifetime.
func (s *calls) within(ctx context.Context) (context.Context, func(), error) {
	if s.lifetime.Err() != nil {
		return nil, nil, s.ended()
	}
	// etcd doesn't check for an ended context before it writes.
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if s.remote {
		ctx = clientv3.WithRequireLeader(ctx) // a member without a leader refuses instead of waiting
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.lifetime, cancel)
	return ctx, func() { stop(); cancel() }, nil
}

// callTime bounds a call: somewhat more than etcd's own bound, which doesn't apply to reads of the embedded etcd.
const callTime = 8 * time.Second

// bounded is within for a call, which ends by itself if etcd doesn't answer.
func (s *calls) bounded(ctx context.Context) (context.Context, func(), error) {
	ctx, done, err := s.within(ctx)
	if err != nil {
		return ctx, done, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	return ctx, func() { cancel(); done() }, nil
}

// ended returns the reason why the store no longer serves: ErrClosed, or the cause for which etcd gave up.
func (s *calls) ended() error { return context.Cause(s.lifetime) }

// ledWait is the time for which a call waits for the members to elect a leader: about two elections.
const ledWait = 3 * time.Second

// led waits until the members have a leader: without one nothing can be written, nor read reliably. It returns
// store.ErrNoQuorum if that takes too long, and store.ErrStalled at once if the disk stalls, which blocks reads and
// writes as well.
func (s *calls) led(ctx context.Context) error {
	if err := s.stalled(); err != nil {
		return err
	}
	if s.quorum() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ledWait)
	defer cancel()
	ticker := time.NewTicker(ledWait / 100)
	defer ticker.Stop()
	for {
		err := s.quorum()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}
