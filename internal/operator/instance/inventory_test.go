package instance

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// TestInventory: the status lists the objects that Flux reports, up to a bound, and omits unreadable ones.
func TestInventory(t *testing.T) {
	release := flux("Ready=True/InstallSucceeded")
	var entries []any
	add := func(id, version string) { entries = append(entries, map[string]any{"id": id, "v": version}) }
	add("prod_web_apps_Deployment", "v1")
	add("prod_web__Service", "v1")
	add("_web__reader_rbac.authorization.k8s.io_ClusterRole", "v1")
	add("nothing", "v1")
	for i := range 150 {
		add(fmt.Sprintf("prod_c%d__ConfigMap", i), "v1")
	}
	release["inventory"] = map[string]any{"entries": entries}
	status := Plan(web(), applied(t, web(), release, flux("Ready=True/Succeeded")), noon).Status
	want := []appsv1alpha1.InventoryEntry{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "prod", Name: "web"}, {APIVersion: "v1", Kind: "Service", Namespace: "prod", Name: "web"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "web:reader"}, {APIVersion: "v1", Kind: "ConfigMap", Namespace: "prod", Name: "c0"},
	}
	if len(status.Inventory) != maxInventory || status.InventoryCount != 153 {
		t.Fatalf("%d of %d objects", len(status.Inventory), status.InventoryCount)
	}
	if diff := cmp.Diff(want, status.Inventory[:4]); diff != "" {
		t.Error(diff)
	}
}
