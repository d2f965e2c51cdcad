package verbs

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// ownsName reports whether objects of a kind have containers, volumes or DNS names that begin with <scope>-<name>, so
// that no other object may have the name.
func ownsName(kind api.Kind) bool { return kind.HasContainers() }

// finalizersOf returns what keeps an object of a kind until what it made is gone.
func finalizersOf(kind api.Kind) []string {
	if finalizer := kind.Info().Finalizer; finalizer != "" {
		return []string{finalizer}
	}
	return nil
}

// claims are the names an apply asks for, with the object that asks.
type claims map[string]api.Ref

// check refuses a name that another object owns, stored or in the same apply: `a`+`b-c` and `a-b`+`c` are one name. The
// message names the other object only where the rights reach its scope.
func (c claims) check(snap records.Snapshot, ref api.Ref, rights source.Rights, found *faults) {
	if !ownsName(ref.Kind) {
		return
	}
	const next = "choose another name, or delete the other object first"
	if owner := snap.NameOwner(ref); owner.Exists() && *owner.Value != ref {
		if !rights.Sees(owner.Value.Scope) {
			found.add(NameTaken, ref, "name", "choose another name", "the name %s is taken in another scope",
				ref.AppID())
			return
		}
		if object := snap.Object(*owner.Value); object.Exists() && object.Value.Metadata.Deleting() {
			found.add(NameTaken, ref, "name", "apply again once it is gone: tend get "+owner.Value.Scope+"/"+owner.Value.Name,
				"the name %s belongs to %s, which is being deleted", ref.AppID(), owner.Value)
			return
		}
		found.clash(NameTaken, *owner.Value, ref, "name", next, "the name %s is taken by %s", ref.AppID(), owner.Value)
		return
	}
	if other, taken := c[ref.AppID()]; taken && other != ref {
		found.clash(NameTaken, other, ref, "name", next, "the name %s is also asked for by %s", ref.AppID(), other)
		return
	}
	c[ref.AppID()] = ref
}
