package etcd

import (
	"context"

	"go.etcd.io/etcd/server/v3/lease"

	"tend.dev/tend/internal/store"
)

// KeepAlive renews a lease once. A leader renews it directly: the client's call opens a stream, which costs several
// times as much, and every node renews its lease every few seconds. If the direct call fails, the client's call fails
// too and returns the reason.
func (s *Store) KeepAlive(ctx context.Context, id store.LeaseID) error {
	server := s.member.Server
	if server.Leader() == server.MemberID() && s.keepAlive(ctx, id) == nil {
		return nil
	}
	return s.calls.KeepAlive(ctx, id)
}

func (s *Store) keepAlive(ctx context.Context, id store.LeaseID) error {
	ctx, done, err := s.bounded(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.member.Server.LeaseRenew(ctx, lease.LeaseID(id))
	return err
}
