package local

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/storefault"
	"tend.dev/tend/internal/store/view"
)

// TestAHeartbeatThatCameLateEndsNoNode: the first write of the heartbeat gets no answer and is applied after the
// second. It belongs to a lease that ends.
func TestAHeartbeatThatCameLateEndsNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		s := storefault.New(memory.New(), func(txn store.Txn) storefault.Fate {
			if sent++; sent == 1 {
				return storefault.Late(1)
			}
			return storefault.Answered
		})
		defer s.Close()
		c := New(Options{Store: s, View: view.New(s, view.Options{})}).Node("n1")
		if err := c.Alive(t.Context(), 10*time.Second); !errors.Is(err, store.ErrUnknownOutcome) {
			t.Fatal(err)
		}
		for range 10 {
			if err := c.Alive(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			<-time.After(3 * time.Second)
		}
		if _, err := s.Get(t.Context(), records.AliveKey("n1")); err != nil {
			t.Errorf("the node reports every 3 s, and its heartbeat is gone: %v", err)
		}
	})
}

// TestAHeartbeatThatMovesBetweenServers: a node is connected to one server, then to another one, and to the first again
// before its first lease there has ended. Its heartbeat stays, whichever lease the key was bound to.
func TestAHeartbeatThatMovesBetweenServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		var at []*Control
		for range 2 {
			v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
			at = append(at, New(Options{Store: s, View: v}).Node("n1"))
			running.Go(func() { _ = v.Run(ctx) })
		}
		for _, server := range []int{0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0} {
			if err := at[server].Alive(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				<-time.After(time.Second)
				if _, err := s.Get(t.Context(), records.AliveKey("n1")); err != nil {
					t.Fatalf("the node reports every 4 s, and its heartbeat is gone: %v", err)
				}
			}
		}
	})
}

// TestHeartbeatsWriteNothing: after the first heartbeat of a node, none of those that follow is a write, however many
// tasks it has.
func TestHeartbeatsWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		c := New(Options{Store: s, View: view.New(s, view.Options{})}).Node("n1")
		revision := func() int64 {
			read, err := s.Get(t.Context(), records.AliveKey("n1"))
			if err != nil {
				t.Fatal(err)
			}
			return read.Modified
		}
		var first int64
		for beat := range 100 {
			if err := c.Alive(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			if beat == 0 {
				first = revision()
			}
			<-time.After(3 * time.Second)
		}
		written, err := records.NewTxn("test").Put("/probe", []byte("x")).Commit(t.Context(), s)
		if err != nil || revision() != first || written != first+1 {
			t.Errorf("%v: 99 heartbeats later the store is at %d, and was at %d", err, written-1, first)
		}
	})
}

// TestAHeartbeatIsWrittenAfterAnElection: once, whatever the new leader of the store renewed.
func TestAHeartbeatIsWrittenAfterAnElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		var former time.Time
		c := New(Options{Store: s, View: view.New(s, view.Options{}),
			FormerLeader: func() time.Time { return former }}).Node("n1")
		seen := map[int64]bool{}
		for beat := range 20 {
			if beat == 10 {
				former = time.Now()
			}
			if err := c.Alive(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			read, err := s.Get(t.Context(), records.AliveKey("n1"))
			if err != nil {
				t.Fatal(err)
			}
			seen[read.Modified] = true
			if want := 1 + beat/10; len(seen) != want {
				t.Fatalf("heartbeat %d: %d writes, want %d", beat, len(seen), want)
			}
			<-time.After(3 * time.Second)
		}
	})
}

// full is a store that refuses what needs room, and renews leases.
type full struct {
	store.Store
	refuses bool
	takes   atomic.Int64 // time.Duration, for a commit
}

func (s *full) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	time.Sleep(time.Duration(s.takes.Load()))
	return s.Store.Commit(ctx, txn)
}

func (s *full) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	if s.refuses {
		return 0, errors.New("no space")
	}
	return s.Store.Grant(ctx, ttl)
}

// TestAHeartbeatThatCantBeWrittenLasts: after an election on a full disk the renewed heartbeat counts, and it is
// written once there is room.
func TestAHeartbeatThatCantBeWrittenLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &full{Store: memory.New()}
		defer s.Close()
		var former time.Time
		c := New(Options{Store: s, View: view.New(s, view.Options{}),
			FormerLeader: func() time.Time { return former }}).Node("n1")
		written := func() int64 {
			read, err := s.Get(t.Context(), records.AliveKey("n1"))
			if err != nil {
				t.Fatal(err)
			}
			return read.Modified
		}
		beat := func() {
			if err := c.Alive(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			<-time.After(3 * time.Second)
		}
		beat()
		before := written()
		former, s.refuses = time.Now(), true
		for range 10 { // longer than a lease
			beat()
		}
		if written() != before {
			t.Error("it was written without room")
		}
		s.refuses = false
		beat()
		if written() == before {
			t.Error("it is not written although there is room")
		}
	})
}
