package flapping

import (
	"context"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// A node is lost three times, and has another one beside it: it gets no pods for 30 s after its last return, the record
// says until when, and it goes once the losses are an hour old.
func TestAFlappingNodeIsDamped(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	store := memory.New()
	v := view.New(store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = store.Close() })
	<-v.Synced()
	snapshot := func() records.Snapshot { return records.Snapshot{Reader: v.Snapshot()} }
	liveness := owner.NewLiveness(0, 0, clock)
	c := control.New(control.Deps{Snapshot: snapshot, Store: store, Now: clock}, Kind(liveness, time.Time{}))
	t.Cleanup(v.OnChange(liveness.Notice))
	await := func(revision int64, err error) {
		t.Helper()
		if err == nil {
			err = v.WaitFor(t.Context(), revision)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	look := func() time.Duration {
		t.Helper()
		result, err := c.Reconcile(t.Context(), control.Key(refOf("n1")))
		await(result.Revision, err)
		return result.After
	}
	put := func(key string, value any) {
		t.Helper()
		await(records.NewTxn("test").Put(key, value).Commit(t.Context(), store))
	}
	lost := func() { await(records.NewTxn("test").Delete(records.AliveKey("n1")).Commit(t.Context(), store)) }
	put(records.NodeKey("n1"), api.NodeStatus{ID: "n1"})
	put(records.AliveKey("n1"), "now")
	for range 3 {
		lost()
		look()
		now = now.Add(time.Minute)
		look()
		put(records.AliveKey("n1"), "again")
		if look(); snapshot().Losses("n1").Exists() {
			t.Fatalf("the only node is held back: %+v", snapshot().Losses("n1").Value)
		}
	}
	put(records.NodeKey("n2"), api.NodeStatus{ID: "n2"})
	put(records.AliveKey("n2"), "now")
	if look(); snapshot().Losses("n1").Exists() {
		t.Fatal("a node that was never lost beside another has a record")
	}
	second, err := c.Reconcile(t.Context(), control.Key(refOf("n2")))
	await(second.Revision, err)
	for range 3 {
		lost()
		if after := look(); after <= 0 || after > 30*time.Second {
			t.Fatalf("again in %s", after)
		}
		now = now.Add(time.Minute)
		if dirty := c.Dirty(now); len(dirty) != 1 {
			t.Fatalf("a loss goes unnoticed: %v", dirty)
		}
		look()
		put(records.AliveKey("n1"), "again")
		look()
	}
	losses := snapshot().Losses("n1").Value
	if losses == nil || len(losses.At) != 3 || !losses.Until.Equal(now.Add(30*time.Second)) {
		t.Fatalf("%+v", losses)
	}
	now = now.Add(30 * time.Second)
	if look(); !snapshot().Losses("n1").Value.Until.IsZero() {
		t.Errorf("%+v once it is over", snapshot().Losses("n1").Value)
	}
	now = now.Add(time.Hour)
	if look(); snapshot().Losses("n1").Exists() {
		t.Error("the record stays for ever")
	}
	if dirty := c.Dirty(now); len(dirty) > 0 {
		t.Errorf("and there is more to do: %v", dirty)
	}
}
