package link

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestInventoryIsReported: an application's inventory is sent when it changes, also when it becomes empty.
func TestInventoryIsReported(t *testing.T) {
	with := func(names ...any) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetGroupVersionKind(kindInstance)
		object.SetUID("u")
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": name})
		}
		object.Object["status"] = map[string]any{"inventory": list, "inventoryCount": int64(len(names))}
		return object
	}
	named := func(name string) api.ClusterObject {
		return api.ClusterObject{ClusterResource: api.ClusterResource{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "prod", Name: name,
		}}
	}
	for name, tc := range map[string]struct {
		before, now *unstructured.Unstructured
		want        *pull.Inventory
	}{
		"the same": {with("a"), with("a"), nil},
		"more": {with("a"), with("a", "b"), &pull.Inventory{Count: 2, Objects: []api.ClusterObject{
			named("a"), named("b"),
		}}},
		"nothing":     {with("a"), with(), &pull.Inventory{}},
		"none at all": {with(), with(), nil},
		"one in place": {with("a"), with("b"), &pull.Inventory{
			Count: 1, Objects: []api.ClusterObject{named("b")},
		}},
	} {
		var got *pull.Inventory
		for _, event := range changes(observationOf(tc.before), observationOf(tc.now), time.Now()) {
			got = event.Inventory
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestHealthIsReported: the health of an application's objects is sent when it changes. A status of an older generation
// has none: as soon as the spec is written, the health that was reported before goes.
func TestHealthIsReported(t *testing.T) {
	with := func(generation int64, health, message string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"observedGeneration": int64(2), "inventoryCount": int64(1), "health": health, "inventory": []any{map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "health": health, "message": message,
			}},
		}}}
		object.SetGroupVersionKind(kindInstance)
		object.SetUID("u")
		object.SetGeneration(generation)
		return object
	}
	healthy, failing := with(2, "Healthy", ""), with(2, "Degraded", "Ready: 0/1")
	for name, tc := range map[string]struct {
		before, now *unstructured.Unstructured
		events      int
		want        api.ClusterHealth
		message     string
	}{
		"the same":      {healthy, with(2, "Healthy", ""), 0, "", ""},
		"another":       {healthy, failing, 1, api.ClusterDegraded, "Ready: 0/1"},
		"a newer spec":  {failing, with(3, "Degraded", "Ready: 0/1"), 1, "", ""},
		"and the next":  {with(3, "Degraded", "Ready: 0/1"), with(4, "Degraded", "Ready: 0/1"), 0, "", ""},
		"known at once": {with(3, "Degraded", "Ready: 0/1"), healthy, 1, api.ClusterHealthy, ""},
	} {
		events := changes(observationOf(tc.before), observationOf(tc.now), time.Now())
		if len(events) != tc.events {
			t.Errorf("%s: %d events, want %d", name, len(events), tc.events)
			continue
		}
		for _, event := range events {
			has := event.Inventory.Objects[0]
			if event.Inventory.Health != tc.want || has.Health != tc.want || has.Message != tc.message || has.Name != "a" {
				t.Errorf("%s: %+v", name, event.Inventory)
			}
		}
	}
}
