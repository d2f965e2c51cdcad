package link

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/puller"
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

// TestHistoryIsReported: the revisions of Helm are sent when they change, before the condition that speaks of them. A
// revision that an older generation became is not that of the present one.
func TestHistoryIsReported(t *testing.T) {
	with := func(generation int64, ready string, revisions ...any) puller.Observation {
		object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"observedGeneration": generation, "history": revisions,
			"lastRevision": map[string]any{"generation": int64(2), "revision": int64(7)},
			"conditions":   []any{map[string]any{"type": "Ready", "status": ready}},
		}}}
		object.SetGroupVersionKind(kindInstance)
		object.SetUID("u")
		object.SetGeneration(generation)
		return observationOf(object)
	}
	six := map[string]any{"revision": int64(6), "status": "superseded", "lastDeployed": "2026-11-25T13:00:00+01:00"}
	seven := map[string]any{"revision": int64(7), "status": "deployed", "chartVersion": "1.0.0", "digest": "d"}
	was := api.HelmRevision{Revision: 6, Status: "superseded", LastDeployed: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)}
	is := api.HelmRevision{Revision: 7, Status: "deployed", ChartVersion: "1.0.0", Digest: "d"}
	for name, tc := range map[string]struct {
		before, now puller.Observation
		want        []*pull.History
	}{
		"the same": {with(2, "True", seven), with(2, "True", seven), nil},
		"another, and ready": {with(2, "False", six), with(2, "True", seven, six), []*pull.History{
			{Revisions: []api.HelmRevision{is, was}, Current: 7}, nil,
		}},
		"a newer spec": {with(2, "True", seven), with(3, "True", seven), []*pull.History{
			{Revisions: []api.HelmRevision{is}}, nil,
		}},
		"gone": {with(2, "True", seven), with(2, "True"), []*pull.History{{}}},
	} {
		var got []*pull.History
		for _, event := range changes(tc.before, tc.now, time.Now()) {
			got = append(got, event.History)
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
