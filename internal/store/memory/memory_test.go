package memory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memory.New() })
}

// Simulated time must end leases at their exact second, and a renewal must postpone that.
func TestLeaseUnderSyntheticTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		id, err := s.Grant(t.Context(), 29500*time.Millisecond)
		if err != nil {
			t.Fatalf("grant: %v", err)
		}
		revision, err := s.Commit(t.Context(), store.Txn{Do: []store.Op{{Key: "/alive", Lease: id}}})
		if err != nil {
			t.Fatalf("commit: %v", err)
		}
		start := time.Now()
		time.AfterFunc(20*time.Second, func() {
			if err := s.KeepAlive(context.Background(), id); err != nil {
				t.Errorf("keep alive: %v", err)
			}
		})
		if b := <-s.Watch(t.Context(), "/", revision+1).Batches(); len(b.Events) != 1 || !b.Events[0].Deleted {
			t.Errorf("batch %+v; want the deletion", b)
		}
		if after := time.Since(start); after != 50*time.Second {
			t.Errorf("ended after %v; want 20 s + 30 s", after)
		}
	})
}
