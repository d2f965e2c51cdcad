package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"

	"tend.dev/tend/internal/store"
)

// External implements store.Store on an etcd that the user runs, below a prefix of its keys. It never compacts by
// itself, packs the database or clears alarms: other programs may use the same etcd.
type External struct {
	calls
	opts ExternalOptions
	// cluster is the id that etcd gives its cluster.
	cluster uint64
	// usable are the endpoints that answered at the start.
	usable []string
	// down is the reason why writes fail now, or nil.
	down      atomic.Pointer[error]
	closeOnce atomic.Bool
}

var _ store.Store = (*External)(nil)

// The times of an external store: the bound of Connect, the interval of health checks, and the time that a check may
// take.
const (
	connectTime = 9 * time.Second
	askEvery    = time.Second
	answerTime  = 2 * time.Second
)

// Connect opens an external etcd. It returns an error with the cause and the next step if no endpoint answers, the
// endpoints belong to different clusters, or etcd refuses an operation that this store needs.
func Connect(ctx context.Context, opts ExternalOptions) (*External, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectTime, fmt.Errorf("it did not answer within %s", connectTime))
	defer cancel()
	e := &External{opts: opts}
	e.remote = true
	e.begin(e.Quorum, func() error { return nil })
	if err := e.connect(ctx); err != nil {
		return nil, fmt.Errorf("use the etcd at %s: %w", e, errors.Join(err, e.Close()))
	}
	e.spawn(e.watchHealth)
	e.spawn(func() { e.completeEndpoints(e.usable) })
	return e, nil
}

// connect checks the endpoints one by one, and then the whole etcd.
func (e *External) connect(ctx context.Context) (err error) {
	if e.usable, err = e.checkEndpoints(ctx); err != nil {
		return err
	}
	if e.client, err = e.opts.client(e.usable); err != nil {
		return e.opts.explain(err)
	}
	e.client.KV = namespace.NewKV(e.client.KV, e.opts.Prefix+apart)
	e.client.Watcher = namespace.NewWatcher(e.client.Watcher, e.opts.Prefix+apart)
	if err := e.ask(ctx); err != nil {
		return e.opts.explain(err)
	}
	return e.checkLimits(ctx)
}

// String returns the endpoints and the prefix.
func (e *External) String() string {
	return fmt.Sprintf("%s below %s", strings.Join(e.opts.Endpoints, ", "), e.opts.Prefix)
}

// Commit applies all operations or none.
func (e *External) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if err := txn.Validate(); err != nil {
		return 0, err
	}
	ctx, done, err := e.bounded(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if err := e.led(ctx); err != nil {
		return 0, fmt.Errorf("commit %s: %w", txn.Site, err)
	}
	revision, err := e.commit(ctx, txn)
	if errors.Is(err, store.ErrNoSpace) {
		return 0, fmt.Errorf("%w: %w: %s", err, store.ErrQuota, e)
	}
	return revision, err
}

// KeepAlive renews a lease once. The client's own call would retry without a pause while etcd can't be reached.
func (e *External) KeepAlive(ctx context.Context, id store.LeaseID) error {
	ctx, done, err := e.bounded(ctx)
	if err != nil {
		return err
	}
	defer done()
	answer, err := e.renew(ctx, id)
	if err == nil && answer.TTL <= 0 {
		err = rpctypes.ErrLeaseNotFound
	}
	return e.translate("keep a lease alive", rpctypes.Error(err))
}

func (e *External) renew(ctx context.Context, id store.LeaseID) (*etcdserverpb.LeaseKeepAliveResponse, error) {
	stream, err := etcdserverpb.NewLeaseClient(e.client.ActiveConnection()).LeaseKeepAlive(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
		return nil, err
	}
	return stream.Recv()
}

// Quorum returns store.ErrNoAnswer, with the reason, while etcd can't be reached or has no leader.
func (e *External) Quorum() error {
	if why := e.down.Load(); why != nil {
		return *why
	}
	return nil
}

// ask returns an error unless more than half of etcd's members answer.
func (e *External) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), answerTime)
	defer cancel()
	got, err := e.client.Get(ctx, nothing, clientv3.WithCountOnly())
	if err != nil {
		return err
	}
	if id := got.Header.ClusterId; id != e.cluster {
		return fmt.Errorf("another etcd cluster answers than before: %x, not %x", id, e.cluster)
	}
	return nil
}

// watchHealth checks etcd at an interval until the store is closed. As often, it asks for the newest revision on behalf
// of watches: other programs raise it with changes that the watches don't see.
func (e *External) watchHealth() {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		err := e.ask(e.lifetime)
		switch {
		case e.lifetime.Err() != nil:
			return
		case err != nil && e.down.Load() == nil:
			e.opts.Logger.Warn("etcd does not answer: nothing can be written until it does", "etcd", e.String(), "error", err)
		case err == nil && e.down.Load() != nil:
			e.opts.Logger.Info("etcd answers again", "etcd", e.String())
		}
		if err != nil {
			why := fmt.Errorf("%w: %s: %w", store.ErrNoAnswer, e, reason(err))
			e.down.Store(&why)
		} else {
			e.down.Store(nil)
			ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(e.lifetime), answerTime)
			_ = e.client.RequestProgress(ctx) // retried at the next interval
			cancel()
		}
		select {
		case <-e.lifetime.Done():
			return
		case <-ticker.C:
		}
	}
}

// Close ends watches and calls, and the connections.
func (e *External) Close() error {
	if e.closeOnce.Swap(true) {
		return nil
	}
	e.starting.Lock()
	e.end(store.ErrClosed)
	e.starting.Unlock()
	e.running.Wait()
	if e.client == nil {
		return nil
	}
	_ = e.client.Watcher.Close() // ends the goroutines of the namespace's own watcher
	return e.client.Close()
}
