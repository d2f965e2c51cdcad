package verbs

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
)

// ownName is a field that names volumes, or init containers, of each ordinal of a statefulset.
type ownName struct{ block, name string }

const (
	blockClaim = "volume_claim"
	blockInit  = "init"
)

// ownNames returns what the names of a statefulset's volumes and init containers begin with: its ordinals add their
// number alone. Slots of other kinds are drawn by lot.
func ownNames(object api.Object) map[ownName]string {
	out := map[ownName]string{}
	for claim, prefix := range volumes.Claimed(object) {
		out[ownName{blockClaim, claim}] = prefix
	}
	if object.Kind != api.KindStatefulSet {
		return out
	}
	spec, err := api.DecodeSpec[api.StatefulSetSpec](object)
	if err != nil {
		return out // validation reports it
	}
	of := api.Task{Kind: object.Kind, Scope: object.Scope, Name: object.Name}
	for _, init := range spec.Inits {
		out[ownName{blockInit, init.Name}] = of.InitName(init.Name)
	}
	return out
}

// checkOwnNames refuses written objects with volumes or init containers of the names of another's, stored or of the
// same apply: of shop/api-q the claim data-x, of shop-api/q-data the claim x. Only what an object didn't have before
// counts, so that who had a name first can be changed. Objects that are being deleted don't count: what is theirs has
// labels.
func checkOwnNames(
	snap records.Snapshot, written []api.Object, going []records.Read[api.Object], rights source.Rights, found *faults,
) {
	asked := false
	skip := map[api.Ref]bool{}
	for _, object := range written {
		skip[object.Ref()] = true
		asked = asked || len(newNames(snap, object)) > 0
	}
	if !asked {
		return
	}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	taken := map[ownName]api.Ref{} // by block and joined name
	take := func(object api.Object) {
		for name, prefix := range ownNames(object) {
			taken[ownName{name.block, prefix}] = object.Ref()
		}
	}
	for object := range snap.Objects(api.KindStatefulSet) {
		if !skip[object.Value.Ref()] && !object.Value.Metadata.Deleting() {
			take(*object.Value)
		}
	}
	for _, object := range written { // what is kept counts before what is new, in whatever order they are listed
		kept := ownNames(object)
		for name := range newNames(snap, object) {
			delete(kept, name)
		}
		for name, prefix := range kept {
			taken[ownName{name.block, prefix}] = object.Ref()
		}
	}
	for _, object := range written {
		refuseOwnNames(object, newNames(snap, object), taken, rights, found)
		take(object)
	}
}

// newNames returns what an object names that its stored version doesn't.
func newNames(snap records.Snapshot, object api.Object) map[ownName]string {
	names := ownNames(object)
	if stored := snap.Object(object.Ref()); stored.Exists() {
		for name := range ownNames(*stored.Value) {
			delete(names, name)
		}
	}
	return names
}

func refuseOwnNames(
	object api.Object, asked map[ownName]string, taken map[ownName]api.Ref, rights source.Rights, found *faults,
) {
	byField := func(a, b ownName) int {
		return cmp.Or(strings.Compare(a.block, b.block), strings.Compare(a.name, b.name))
	}
	for _, name := range slices.SortedFunc(maps.Keys(asked), byField) {
		owner, is := taken[ownName{name.block, asked[name]}]
		field, things, next := name.block+" "+name.name, "volumes", "choose another name for the claim, or for the statefulset"
		if name.block == blockInit {
			things, next = "init containers", "choose another name for the init container, or for the statefulset"
		}
		switch {
		case !is || owner == object.Ref():
		case !rights.Sees(owner.Scope):
			found.add(NameTaken, object.Ref(), field, next, "%s called %sN are taken in another scope", things, asked[name])
		default:
			found.clash(NameTaken, owner, object.Ref(), field, next, "%s called %sN are those of %s", things, asked[name], owner)
		}
	}
}
