package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"tend.dev/tend/internal/store"
)

// Get reads one key.
func (s *calls) Get(ctx context.Context, key string) (store.Entry, error) {
	ctx, done, err := s.bounded(ctx)
	if err != nil {
		return store.Entry{}, err
	}
	defer done()
	got, err := s.read(ctx, key)
	if err != nil {
		return store.Entry{}, s.translate("get "+key, err)
	}
	if len(got.Kvs) == 0 {
		return store.Entry{}, fmt.Errorf("get %s: %w", key, store.ErrNotFound)
	}
	return entry(got.Kvs[0]), nil
}

// List reads the keys under a prefix, in order, at one revision.
func (s *calls) List(ctx context.Context, prefix string, opts store.ListOptions) (store.Page, error) {
	ctx, done, err := s.bounded(ctx)
	if err != nil {
		return store.Page{}, err
	}
	defer done()
	from, end := bounds(prefix)
	if opts.After != "" {
		from = max(from, opts.After+"\x00")
	}
	got, err := s.read(ctx, from, clientv3.WithRange(end), clientv3.WithRev(opts.Revision),
		clientv3.WithLimit(int64(opts.Limit)), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
	if err != nil {
		return store.Page{}, s.translate("list "+prefix, err)
	}
	page := store.Page{Entries: make([]store.Entry, len(got.Kvs)), Revision: got.Header.Revision, More: got.More}
	if opts.Revision != 0 {
		page.Revision = opts.Revision
	}
	for i, kv := range got.Kvs {
		page.Entries[i] = entry(kv)
	}
	return page, nil
}

// read sends reads of the newest revision. It waits for a leader first, and retries if the members elect another one
// meanwhile.
func (s *calls) read(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	for {
		if err := s.led(ctx); err != nil {
			return nil, err
		}
		got, err := s.client.Get(ctx, key, opts...)
		if !errors.Is(err, rpctypes.ErrLeaderChanged) {
			return got, err
		}
	}
}

// nothing is a prefix that no key has: listing it returns only the newest revision.
const nothing = "\x00none"

// bounds returns the range of a prefix in etcd's form.
func bounds(prefix string) (from, end string) {
	if prefix == "" {
		return "\x00", "\x00"
	}
	return prefix, clientv3.GetPrefixRangeEnd(prefix)
}

// Grant creates a lease.
func (s *calls) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	ctx, done, err := s.bounded(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if err := s.led(ctx); err != nil {
		return 0, fmt.Errorf("grant a lease: %w", err)
	}
	granted, err := s.client.Grant(ctx, int64((ttl+time.Second-1)/time.Second))
	if err != nil {
		return 0, s.translate("grant a lease", err)
	}
	return store.LeaseID(granted.ID), nil
}

// KeepAlive renews a lease once.
func (s *calls) KeepAlive(ctx context.Context, id store.LeaseID) error {
	ctx, done, err := s.bounded(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.client.KeepAliveOnce(ctx, clientv3.LeaseID(id))
	return s.translate("keep a lease alive", err)
}

// Revoke ends a lease.
func (s *calls) Revoke(ctx context.Context, id store.LeaseID) error {
	ctx, done, err := s.bounded(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.client.Revoke(ctx, clientv3.LeaseID(id))
	return s.translate("revoke a lease", err)
}

// Compact deletes the history before a revision.
func (s *calls) Compact(ctx context.Context, revision int64) error {
	ctx, done, err := s.bounded(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.client.Compact(ctx, revision)
	if errors.Is(err, rpctypes.ErrCompacted) {
		return nil // already compacted
	}
	return s.translate("compact", err)
}

func entry(kv *mvccpb.KeyValue) store.Entry {
	return store.Entry{
		Key: string(kv.Key), Value: kv.Value, Created: kv.CreateRevision, Modified: kv.ModRevision,
		Lease: store.LeaseID(kv.Lease),
	}
}
