package clusterjob

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestInventoryIsKept: the report has what an application consists of, bounded; an event without an inventory says
// nothing of it, and one of an older generation does not count.
func TestInventoryIsKept(t *testing.T) {
	now := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	of := func(n int, generation int64) pull.Event {
		inventory := &pull.Inventory{Count: n}
		for range min(n, 2*pull.MaxInventory) {
			inventory.Objects = append(inventory.Objects,
				api.ClusterObject{ClusterResource: api.ClusterResource{
					APIVersion: "v1", Kind: "Service", Namespace: "prod", Name: "web", UID: "dropped",
				}})
		}
		return pull.Event{Kind: pull.EventConditionTransition, Inventory: inventory,
			ResourceRef: api.ClusterResource{UID: "c1", Generation: generation}}
	}
	stored := api.ClusterReport{UID: "u1", Applied: &api.ClusterResource{UID: "c1", Generation: 2}}
	take := func(event pull.Event, want Verdict, count, listed int) {
		t.Helper()
		next, verdict := TakeEvent(&stored, "u1", event, now)
		if verdict != want || next.ObjectCount != count || len(next.Objects) != listed {
			t.Errorf("verdict %d, %d objects, %d listed", verdict, next.ObjectCount, len(next.Objects))
		}
		stored = next
	}
	take(of(500, 2), Taken, 500, pull.MaxInventory)
	take(of(500, 2), Repeated, 500, pull.MaxInventory)
	take(pull.Event{Kind: pull.EventConditionTransition, ResourceRef: api.ClusterResource{UID: "c1", Generation: 2}},
		Repeated, 500, pull.MaxInventory)
	take(of(1, 1), Repeated, 500, pull.MaxInventory)
	take(of(1, 2), Taken, 1, 1)
	if diff := cmp.Diff(api.ClusterResource{APIVersion: "v1", Kind: "Service", Namespace: "prod", Name: "web"},
		stored.Objects[0].ClusterResource); diff != "" {
		t.Error(diff)
	}
	status := Input{Report: &stored, Object: api.Object{Kind: api.KindApplicationInstance},
		Now: now}.status(nil, time.Time{})
	if len(status.Objects) != 1 || status.ObjectCount != 1 {
		t.Errorf("the status has %d of %d", len(status.Objects), status.ObjectCount)
	}
	take(of(0, 2), Taken, 0, 0)
}
