package controlplane

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// away is a store that answers neither reads nor commits while it is set.
type away struct {
	store.Store
	set atomic.Bool
}

func (a *away) Get(ctx context.Context, key string) (store.Entry, error) {
	if a.set.Load() {
		return store.Entry{}, errors.New("the store has no quorum")
	}
	return a.Store.Get(ctx, key)
}

func (a *away) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if a.set.Load() {
		return 0, errors.New("the store has no quorum")
	}
	return a.Store.Commit(ctx, txn)
}

// TestASilenceFromBeforeTheStoreWasAway: a server that follows keeps the silences that it saw. While the store gives no
// answer no server hears a node, so afterwards they count for nothing.
func TestASilenceFromBeforeTheStoreWasAway(t *testing.T) {
	for name, gone := range map[string]bool{"the store answers": false, "the store is away": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { silenceOfAFollower(t, gone) })
		})
	}
}

func silenceOfAFollower(t *testing.T, gone bool) {
	s := memory.New()
	v := newVictim(t, s)
	v.liveness.FormerLeader = func() time.Time { return time.Time{} }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	viewed := make(chan error, 1)
	go func() { viewed <- v.View.Run(ctx) }()
	alone := func() bool { return false }
	leader, err := Candidate{Store: s, Name: "s2", Alone: alone}.Claim(ctx)
	if err != nil {
		t.Fatal(err)
	}
	follower := &away{Store: s}
	elected := make(chan *Term, 1)
	go func() {
		term, _ := v.Elect(ctx, Candidate{Store: follower, Name: "s1", Alone: alone})
		elected <- term
	}()
	synctest.Wait()
	v.liveness.Notice(view.Change{Key: records.AliveKey("n1"), Deleted: true})
	follower.set.Store(gone)
	time.Sleep(time.Minute)
	follower.set.Store(false)
	leader.End(ctx)
	term := <-elected
	v.liveness.Begin(term.Revision())
	synctest.Wait()
	if got := v.liveness.Of(v.snapshot(), "n1").Lost; got == gone {
		t.Errorf("lost is %v", got)
	}
	term.End(ctx)
	cancel()
	<-viewed
}
