package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tend.dev/tend/internal/store"
)

// Commit applies all operations or none. Before it writes it makes room, or returns ErrNoSpace.
func (s *Store) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if err := txn.Validate(); err != nil {
		return 0, err
	}
	ctx, done, err := s.within(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if err := s.led(ctx); err != nil {
		return 0, fmt.Errorf("commit %s: %w", txn.Site, err)
	}
	if err := s.roomFor(txn); err != nil {
		return 0, fmt.Errorf("commit %s: %w", txn.Site, err)
	}
	revision, err := s.commit(ctx, txn)
	if !errors.Is(err, store.ErrNoSpace) {
		return revision, err
	}
	// etcd's own alarm of an earlier run or another client
	if err := s.makeRoom(txn, true); err != nil {
		return 0, fmt.Errorf("commit %s: %w", txn.Site, err)
	}
	return s.commit(ctx, txn)
}

// Grant creates a lease, if the disk has room for it.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	if s.lifetime.Err() == nil {
		if err := s.disk.keep(s.opts.MinFree/8, 0); err != nil {
			return 0, fmt.Errorf("grant a lease: %w", err)
		}
	}
	return s.calls.Grant(ctx, ttl)
}

// roomFor returns ErrNoSpace if disk or database have no room.
func (s *Store) roomFor(txn store.Txn) error {
	if err := s.disk.check(txn); err != nil {
		return err
	}
	if s.fits(txn) {
		return nil
	}
	return s.makeRoom(txn, false)
}

func (s *calls) commit(ctx context.Context, txn store.Txn) (int64, error) {
	got, err := s.client.Txn(ctx).If(comparisons(txn)...).Then(operations(txn)...).Else(readers(txn)...).Commit()
	if err != nil {
		return 0, s.translateCommit("commit "+txn.Site, err)
	}
	if got.Succeeded {
		return got.Header.Revision, nil
	}
	return 0, conflict(txn, got)
}

func comparisons(txn store.Txn) []clientv3.Cmp {
	out := make([]clientv3.Cmp, len(txn.If))
	for i, c := range txn.If {
		out[i] = clientv3.Compare(clientv3.ModRevision(c.Key), "=", c.Modified)
	}
	return out
}

// operations returns the writes of a transaction as etcd's operations.
func operations(txn store.Txn) []clientv3.Op {
	out := make([]clientv3.Op, len(txn.Do))
	for i, op := range txn.Do {
		switch {
		case op.Delete:
			out[i] = clientv3.OpDelete(op.Key)
		default:
			out[i] = clientv3.OpPut(op.Key, string(op.Value), clientv3.WithLease(clientv3.LeaseID(op.Lease)))
		}
	}
	return out
}

// readers returns reads of the compared keys in the same transaction, so that a conflict can say which one failed and
// why.
func readers(txn store.Txn) []clientv3.Op {
	out := make([]clientv3.Op, len(txn.If))
	for i, c := range txn.If {
		out[i] = clientv3.OpGet(c.Key, clientv3.WithKeysOnly())
	}
	return out
}

// conflict returns the error that names the first precondition that didn't hold, from the reads of readers.
func conflict(txn store.Txn, got *clientv3.TxnResponse) error {
	for i, c := range txn.If {
		have := int64(0)
		if kvs := got.Responses[i].GetResponseRange().GetKvs(); len(kvs) > 0 {
			have = kvs[0].ModRevision
		}
		if have != c.Modified {
			return &store.ConflictError{Key: c.Key, Want: c.Modified, Have: have}
		}
	}
	return store.ErrConflict
}
