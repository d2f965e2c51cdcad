package daemon

import (
	"cmp"
	"context"
	"time"

	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/etcd"
)

// promoteEvery is the interval between two looks at the servers that join.
const promoteEvery = 500 * time.Millisecond

// The number of checks in which a joining server must make progress: until its store has started, and then until it has
// opened everything that it needs; 10 min and an hour. Checks are counted, since no clock may decide who is a server.
const (
	looksAdded   = int(10 * time.Minute / promoteEvery)
	looksJoining = int(time.Hour / promoteEvery)
)

// promote gives ready servers their vote, undoes joins without progress, and renews this server's certificate for the
// others, until ctx ends.
func (d *daemon) promote(ctx context.Context) error {
	renewed := make(chan error, 1)
	recovery.Go(func() {
		renewed <- recovery.Keep(ctx, func(ctx context.Context) error { return d.peers.Renew(ctx, d.Logger) })
	})
	ticker := time.NewTicker(promoteEvery)
	defer ticker.Stop()
	looks := map[uint64]int{}
	for {
		select {
		case <-ctx.Done():
			return <-renewed
		case <-ticker.C:
		}
		d.lookAtJoins(ctx, looks)
	}
}

// lookAtJoins makes one check. looks counts the checks of each member without a vote while this server's store leads.
func (d *daemon) lookAtJoins(ctx context.Context, looks map[uint64]int) {
	running := d.presences()
	ready := func(m etcd.Member) bool { return running[m.Name] != nil && running[m.Name].Member == idOf(m) }
	if err := d.etcd.PromoteMembers(ctx, ready); err != nil && ctx.Err() == nil {
		d.Logger.WarnContext(ctx, "a server can't get its vote; retrying", "error", err)
	}
	members := d.etcd.Members()
	if !d.etcd.Self().Leads {
		clear(looks)
		return
	}
	for _, m := range members {
		if m.Voting || ready(m) {
			delete(looks, m.ID)
			continue
		}
		looks[m.ID]++
		limit := looksJoining
		if m.Name == "" {
			limit = looksAdded
		}
		effect, _ := membership.Decide(membership.Expire, membership.StateOf(serversOf(members), nameOr(m)),
			membership.Subject{})
		if looks[m.ID] < limit || effect != membership.Leaves {
			continue
		}
		if err := d.takeOut(ctx, m); err != nil {
			d.Logger.WarnContext(ctx, "a server whose join made no progress could not be removed; retrying", "server",
				nameOf(m), "error", err)
			continue
		}
		delete(looks, m.ID)
		d.Logger.WarnContext(ctx, "a server whose join made no progress is removed", "server", nameOf(m), "store", m.URL)
	}
}

// nameOr returns the name of a member, or its address until it has started.
func nameOr(m etcd.Member) string {
	return cmp.Or(m.Name, m.URL)
}

// takeOut removes a server, and the records kept for it.
func (d *daemon) takeOut(ctx context.Context, m etcd.Member) error {
	spent := func(server string) bool { return server == m.Name }
	if m.Name == "" { // a member that has never started
		spent = func(server string) bool { return !d.started(server) }
	}
	if err := d.etcd.RemoveMember(ctx, m); err != nil {
		return err
	}
	return d.forgetServer(ctx, nameOr(m), spent)
}
