package local

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// Lease returns how long a heartbeat lasts.
func (c *Control) Lease() time.Duration { return c.Options.Lease }

// Alive implements nodeapi.Control: the heartbeat lasts as long as the server says. What a node asks for, by its own
// flags, would have the server find it lost too early or too late.
func (c *Control) Alive(ctx context.Context, _ time.Duration) error {
	return c.Beat(ctx, func() error { return nil })
}

// Beat renews the heartbeat. mayWrite is asked before a heartbeat is written that can't be renewed: a node that
// alternates between servers has each of them write it. The key is written once per lease; renewing the lease writes
// nothing. It is written again after the store has elected another leader, which renewed all leases: so
// who sees it end knows whether the node has answered since. So it is after the key said that two beats were missing.
// The key is written on the condition that it is as it was read: a write that got no answer and came late would bind it
// to a lease that is no longer renewed.
func (c *Control) Beat(ctx context.Context, mayWrite func() error) error {
	c.heard(c)
	c.mu.Lock()
	lease, bound, former, missed := c.lease, c.bound, c.former, c.missed
	c.mu.Unlock()
	first := c.snapshot().Member(c.node)
	if lease != 0 && c.stillBound(bound) {
		err := c.Store.KeepAlive(ctx, lease)
		elected := err == nil && !c.FormerLeader().Equal(former)
		if elected || err == nil && missed {
			c.rewrite(ctx, first)
		}
		if !errors.Is(err, store.ErrLeaseNotFound) {
			return err
		}
	}
	if err := mayWrite(); err != nil {
		return err
	}
	return c.write(ctx, first)
}

// rewrite writes a heartbeat that was renewed. The heartbeat lasts without it, so a failure is
// logged once, and the next heartbeat tries again.
func (c *Control) rewrite(ctx context.Context, first records.Read[records.Member]) {
	err := c.write(ctx, first)
	c.mu.Lock()
	logged := c.unwritten
	c.unwritten = err != nil
	c.mu.Unlock()
	if err != nil && !logged {
		slog.WarnContext(ctx, "a heartbeat that was renewed can't be written; it is tried again", "node", c.node, "error", err)
	}
}

// write binds the heartbeat to another lease.
func (c *Control) write(ctx context.Context, first records.Read[records.Member]) error {
	former := c.FormerLeader()
	stored, err := c.Store.Get(ctx, records.AliveKey(c.node))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	member, err := c.storedMember(ctx)
	if err != nil {
		return err
	}
	txn, err := c.signed("agent.alive", first, member)
	if err != nil {
		return err
	}
	lease, err := c.Store.Grant(ctx, c.Lease())
	if err != nil {
		return err
	}
	txn.If(records.AliveKey(c.node), stored.Modified).PutLeased(records.AliveKey(c.node), c.heartbeat(time.Time{}), lease)
	revision, err := txn.Commit(ctx, c.Store)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lease, c.bound, c.former, c.missed = lease, revision, former, false
	return nil
}

// stillBound reports whether the heartbeat's key is as this server wrote it: meanwhile the node may have been connected
// to another one, to whose lease the key was bound then.
func (c *Control) stillBound(bound int64) bool {
	snap := c.snapshot()
	if snap.Revision() < bound {
		return true // the write is yet to be seen
	}
	entry, ok := snap.Get(records.AliveKey(c.node))
	return ok && entry.Modified == bound
}
