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
	for name, tc := range map[string]struct {
		before, now *unstructured.Unstructured
		want        *pull.Inventory
	}{
		"the same": {with("a"), with("a"), nil},
		"more": {with("a"), with("a", "b"), &pull.Inventory{Count: 2, Objects: []api.ClusterResource{
			{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "prod", Name: "a"}, {APIVersion: "apps/v1", Kind: "Deployment", Namespace: "prod", Name: "b"},
		}}},
		"nothing":     {with("a"), with(), &pull.Inventory{}},
		"none at all": {with(), with(), nil},
		"one in place": {with("a"), with("b"), &pull.Inventory{
			Count: 1, Objects: []api.ClusterResource{{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "prod", Name: "b"}},
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
