package instance

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// maxInventory bounds the objects that a status lists of a release: a chart may have thousands.
const maxInventory = 100

// inventoryOf returns the objects of a release as Flux reports them, and their number.
func inventoryOf(release fluxObject) (entries []appsv1alpha1.InventoryEntry, count int32) {
	if release.absent() {
		return nil, 0
	}
	entries = Inventory(release.Unstructured)
	return entries[:min(len(entries), maxInventory)], int32(len(entries))
}

// Inventory returns all objects of a release, as Flux reports them in the status of its HelmRelease.
func Inventory(release *unstructured.Unstructured) (entries []appsv1alpha1.InventoryEntry) {
	list, _, _ := unstructured.NestedSlice(release.Object, "status", "inventory", "entries")
	for _, one := range list {
		values, _ := one.(map[string]any)
		id, _ := values["id"].(string)
		version, _ := values["v"].(string)
		if entry, ok := inventoryEntry(id, version); ok {
			entries = append(entries, entry)
		}
	}
	return entries
}

// inventoryEntry parses Flux's form of an object: namespace_name_group_kind. A colon in a name is written as two
// underscores.
func inventoryEntry(id, version string) (entry appsv1alpha1.InventoryEntry, ok bool) {
	namespace, rest, found := strings.Cut(id, "_")
	last := strings.LastIndexByte(rest, '_')
	if !found || last < 0 {
		return entry, false
	}
	entry.Namespace, entry.Kind = namespace, rest[last+1:]
	rest = rest[:last]
	last = strings.LastIndexByte(rest, '_')
	if last < 0 {
		return entry, false
	}
	entry.APIVersion, entry.Name = version, strings.ReplaceAll(rest[:last], "__", ":")
	if group := rest[last+1:]; group != "" {
		entry.APIVersion = group + "/" + version
	}
	return entry, entry.Name != "" && entry.Kind != ""
}
