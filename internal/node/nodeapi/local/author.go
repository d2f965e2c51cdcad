package local

import (
	"context"
	"errors"
	"fmt"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// author is the machine that writes under a node's name: the one that it was of when the request came. What comes late,
// after a person took the node out or another machine got its name, is not written.
type author struct {
	c     *Control
	first records.Read[records.Member]
}

func (c *Control) author() author { return author{c, c.snapshot().Member(c.node)} }

// txn begins a commit that is applied only if the node's name is of the same machine then. It returns node.ErrForbidden
// if it is not so in the snapshot.
func (a author) txn(snap records.Snapshot, site string) (*records.Txn, error) {
	return a.c.signed(site, a.first, snap.Member(a.c.node))
}

// signed is author.txn of what is known of the machine: when the request came, and now. A name without a record, as
// older stores and a server alone have it, stays one without.
func (c *Control) signed(site string, first, now records.Read[records.Member]) (*records.Txn, error) {
	switch {
	case now.Exists() && now.Value.Removed:
		return nil, fmt.Errorf("node %s was removed from the cluster: %w", c.node, node.ErrForbidden)
	case first.Exists() && now.Exists() && (now.Value.UID != first.Value.UID || now.Value.Server != first.Value.Server):
		return nil, fmt.Errorf("another machine has joined as %s since: %w", c.node, node.ErrForbidden)
	}
	return records.NewTxn(site).If(records.MemberKey(c.node), now.Modified), nil
}

// storedMember reads which machine the name is of from the store itself: a heartbeat doesn't wait for the view.
func (c *Control) storedMember(ctx context.Context) (records.Read[records.Member], error) {
	key := records.MemberKey(c.node)
	entry, err := c.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return records.Read[records.Member]{}, nil
	}
	if err != nil {
		return records.Read[records.Member]{}, err
	}
	value, err := records.Decode(key, entry.Value)
	member, _ := value.(*records.Member)
	return records.Read[records.Member]{Value: member, Modified: entry.Modified}, err
}
