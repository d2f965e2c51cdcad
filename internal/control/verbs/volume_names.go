package verbs

import (
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
)

// checkVolumeNames refuses written objects that claim volumes of the names of another's, stored or of the same apply:
// of shop/api-q the claim data-x, of shop-api/q-data the claim x. Only what an object didn't claim before counts, so
// that who claimed a name first can be changed. Objects that are being deleted don't count: their volumes have labels.
func checkVolumeNames(
	snap records.Snapshot, written []api.Object, going []records.Read[api.Object], rights source.Rights, found *faults,
) {
	asked := false
	skip := map[api.Ref]bool{}
	for _, object := range written {
		skip[object.Ref()] = true
		asked = asked || len(newClaims(snap, object)) > 0
	}
	if !asked {
		return
	}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	taken := map[string]api.Ref{}
	take := func(object api.Object) {
		for _, prefix := range volumes.Claimed(object) {
			taken[prefix] = object.Ref()
		}
	}
	for object := range snap.Objects(api.KindStatefulSet) {
		if !skip[object.Value.Ref()] && !object.Value.Metadata.Deleting() {
			take(*object.Value)
		}
	}
	for _, object := range written { // what is kept counts before what is new, in whatever order they are listed
		kept := volumes.Claimed(object)
		for claim := range newClaims(snap, object) {
			delete(kept, claim)
		}
		for _, prefix := range kept {
			taken[prefix] = object.Ref()
		}
	}
	for _, object := range written {
		refuseVolumeNames(object, newClaims(snap, object), taken, rights, found)
		take(object)
	}
}

// newClaims returns what an object claims that its stored version doesn't.
func newClaims(snap records.Snapshot, object api.Object) map[string]string {
	claimed := volumes.Claimed(object)
	if stored := snap.Object(object.Ref()); stored.Exists() {
		for claim := range volumes.Claimed(*stored.Value) {
			delete(claimed, claim)
		}
	}
	return claimed
}

func refuseVolumeNames(
	object api.Object, asked map[string]string, taken map[string]api.Ref, rights source.Rights, found *faults,
) {
	const next = "choose another name for the claim, or for the statefulset"
	for _, claim := range slices.Sorted(maps.Keys(asked)) {
		owner, is := taken[asked[claim]]
		field := "volume_claim " + claim
		switch {
		case !is || owner == object.Ref():
		case !rights.Sees(owner.Scope):
			found.add(NameTaken, object.Ref(), field, next, "volumes called %sN are taken in another scope", asked[claim])
		default:
			found.clash(NameTaken, owner, object.Ref(), field, next, "volumes called %sN are those of %s", asked[claim], owner)
		}
	}
}
