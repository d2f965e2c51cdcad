package local_test

import (
	"context"
	"testing"
	"time"

	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// granting notes how long the last lease lasts.
type granting struct {
	store.Store
	lasts time.Duration
}

func (g *granting) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	g.lasts = ttl
	return g.Store.Grant(ctx, ttl)
}

// TestTheServersTimeoutGovernsEveryNode: an agent with the default flags is lost at the server's timeout after its last
// heartbeat, not at its own.
func TestTheServersTimeoutGovernsEveryNode(t *testing.T) {
	const heartbeat, agents = 5 * time.Second, 25 * time.Second
	for _, timeout := range []time.Duration{60 * time.Second, 15 * time.Second, 3 * time.Second} {
		gather := nodeapi.Gather(timeout, heartbeat)
		db := &granting{Store: memory.New()}
		seen := view.New(db, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		service := local.New(local.Options{Store: db, View: seen, Timeout: timeout, Lease: timeout - gather})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- seen.Run(ctx) }()
		<-seen.Synced()
		if _, err := records.NewTxn("test").Put(records.MemberKey("n1"),
			records.Member{UID: "n1"}).Commit(ctx, db); err != nil {
			t.Fatal(err)
		}
		if err := service.Node("n1").Alive(ctx, agents); err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		last := now
		judge := owner.NewLiveness(timeout, gather, func() time.Time { return now })
		judge.Begin(0)
		now = last.Add(db.lasts) // the store ends the lease
		revision, err := records.NewTxn("test").Delete(records.AliveKey("n1")).Commit(ctx, db)
		if err == nil {
			err = seen.WaitFor(ctx, revision)
		}
		if err != nil {
			t.Fatal(err)
		}
		snap := records.Snapshot{Reader: seen.Snapshot()}
		judge.Notice(view.Change{Key: records.AliveKey("n1"), Old: []byte("n1"), Deleted: true})
		for _, at := range []struct {
			after time.Duration
			lost  bool
		}{{timeout - time.Millisecond, false}, {timeout, true}} {
			now = last.Add(at.after)
			if got := judge.Of(snap, "n1").Lost; got != at.lost {
				t.Errorf("with %s, %s after its last heartbeat the node is lost: %v", timeout, at.after, got)
			}
		}
		cancel()
		<-done
		_ = db.Close()
	}
}
