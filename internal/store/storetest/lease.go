package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/store"
)

var leaseChecks = map[string]check{
	"expiry deletes its keys in one commit": leaseExpires,
	"keeping it alive keeps its keys":       leaseKeptAlive,
	"revoking deletes its keys":             leaseRevoked,
	"an unknown lease is refused":           leaseUnknown,
	"rewriting a key frees it":              leaseReplaced,
}

func grant(t *testing.T, s store.Store, ttl time.Duration) store.LeaseID {
	t.Helper()
	id, err := s.Grant(within(t), ttl)
	if err != nil || id == 0 {
		t.Fatalf("grant = %x, %v", id, err)
	}
	return id
}

func leased(key string, id store.LeaseID) store.Op {
	return store.Op{Key: key, Value: []byte("alive"), Lease: id}
}

func leaseExpires(t *testing.T, s store.Store) {
	ctx := within(t)
	id := grant(t, s, time.Second)
	r := mustCommit(t, s, leased("/alive/2", id), leased("/alive/1", id), put("/stays", "1"))
	if got := mustGet(t, s, "/alive/1").Lease; got != id {
		t.Errorf("the key carries lease %x; want %x", got, id)
	}
	got := next(ctx, t, s.Watch(ctx, "/", r+1), 1)
	want := []store.Batch{{Revision: r + 1,
		Events: []store.Event{deleteEvent("/alive/1", r+1), deleteEvent("/alive/2", r+1)}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/stays"}, keys(t, s, "/")); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	mustBe(t, s.KeepAlive(ctx, id), store.ErrLeaseNotFound)
}

// leaseKeptAlive uses a second lease, granted later and never renewed, as the clock: by the time that lease has ended
// five times over, the first would have ended too. On a machine that is slow for seconds neither ends in time.
func leaseKeptAlive(t *testing.T, s store.Store) {
	ctx := within(t)
	kept := grant(t, s, 8*time.Second)
	mustCommit(t, s, leased("/kept", kept))
	for range 5 {
		other := grant(t, s, 2*time.Second)
		r := mustCommit(t, s, leased("/other", other))
		next(ctx, t, s.Watch(ctx, "/other", r+1), 1)
		if err := s.KeepAlive(ctx, kept); err != nil {
			t.Fatalf("keep alive: %v", err)
		}
	}
	mustGet(t, s, "/kept")
	if err := s.Revoke(ctx, kept); err != nil {
		// otherwise its end would be a commit in the midst of the next check of the same etcd
		t.Fatalf("revoke: %v", err)
	}
}

func leaseRevoked(t *testing.T, s store.Store) {
	ctx := within(t)
	id := grant(t, s, time.Hour)
	r := mustCommit(t, s, leased("/alive/1", id))
	if err := s.Revoke(ctx, id); err != nil {
		t.Fatalf("revoke: %v", err)
	}
	mustBeAbsent(t, s, "/alive/1")
	got := next(ctx, t, s.Watch(ctx, "/", r+1), 1)
	if diff := cmp.Diff([]store.Event{deleteEvent("/alive/1", r+1)}, got[0].Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	mustBe(t, s.Revoke(ctx, id), store.ErrLeaseNotFound)
}

func leaseUnknown(t *testing.T, s store.Store) {
	const never = store.LeaseID(4711)
	_, err := s.Commit(t.Context(), store.Txn{Do: []store.Op{put("/a", "1"), leased("/b", never)}})
	mustBe(t, err, store.ErrLeaseNotFound)
	mustBeAbsent(t, s, "/a")
	mustBe(t, s.KeepAlive(within(t), never), store.ErrLeaseNotFound)
	mustBe(t, s.Revoke(within(t), never), store.ErrLeaseNotFound)
}

func leaseReplaced(t *testing.T, s store.Store) {
	id := grant(t, s, time.Hour)
	mustCommit(t, s, leased("/a", id), leased("/b", id), leased("/c", id))
	mustCommit(t, s, put("/a", "free"), del("/b"))
	mustCommit(t, s, put("/b", "again"))
	if err := s.Revoke(within(t), id); err != nil {
		t.Fatalf("revoke: %v", err)
	}
	if diff := cmp.Diff([]string{"/a", "/b"}, keys(t, s, "/")); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}
