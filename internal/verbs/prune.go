package verbs

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

// prunable returns the stored objects that the set applied before and does not hold any more, by kind, scope and name.
func prunable(snap records.Snapshot, keep []api.Object, set string) []records.Read[api.Object] {
	kept := make(map[api.Ref]bool, len(keep))
	for _, object := range keep {
		kept[object.Ref()] = true
	}
	var out []records.Read[api.Object]
	for _, kind := range api.Kinds {
		for object := range snap.Objects(kind) {
			meta := object.Value.Metadata
			if api.InApplySet(*object.Value, set) && !kept[object.Value.Ref()] && !meta.Deleting() {
				out = append(out, object)
			}
		}
	}
	return out
}
