package verbs

import (
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
)

// warnOfWriters warns of objects that write to one volume or folder at once. What is pruned, or is being deleted,
// doesn't count: a new release waits until that is gone.
func warnOfWriters(snap records.Snapshot, all []placed, pruned []records.Read[api.Object], rights source.Rights) {
	uses, skip := writersOf(all), map[api.Ref]bool{}
	if len(uses) == 0 {
		return
	}
	for _, p := range all {
		skip[p.next.Ref()] = true
	}
	for _, object := range pruned {
		skip[object.Value.Ref()] = true
	}
	own := len(uses)
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		for object := range snap.Objects(kind) {
			if skip[object.Value.Ref()] || object.Value.Metadata.Deleting() {
				continue
			}
			use := volumes.UseOf(*object.Value)
			if slices.ContainsFunc(uses[:own], func(u volumes.Use) bool { return u.Both(use) != "" }) {
				uses = append(uses, use)
			}
		}
	}
	writers := map[string][]api.Ref{}
	for _, use := range uses {
		for _, at := range use.Alone() {
			writers[at] = append(writers[at], use.Ref)
		}
	}
	for i := range all {
		all[i].warnOfBeside(writers, rights)
	}
}

// writersOf returns the uses of the applied objects that write to a volume which is not declared for several.
func writersOf(all []placed) (out []volumes.Use) {
	for _, p := range all {
		if use := volumes.UseOf(p.next); len(use.Alone()) > 0 {
			out = append(out, use)
		}
	}
	return out
}

// warnOfBeside warns of the other writers of each volume of an object. The text is the same for all of them, so that it
// is printed once.
func (p *placed) warnOfBeside(writers map[string][]api.Ref, rights source.Rights) {
	for _, at := range volumes.UseOf(p.next).Alone() {
		if refs := writers[at]; len(refs) > 1 {
			p.result.Warnings = append(p.result.Warnings, volumes.Beside(at, namesOf(refs, rights)))
		}
	}
}

// namesOf lists objects in order, without the names of those that the person may not see.
func namesOf(refs []api.Ref, rights source.Rights) (names []string) {
	hidden := false
	for _, ref := range refs {
		if rights.Sees(ref.Scope) {
			names = append(names, ref.String())
		} else {
			hidden = true
		}
	}
	slices.Sort(names)
	if hidden {
		names = append(names, "an object of another scope")
	}
	return names
}

// warnOfMoved warns of a volume or claim that was renamed: the new one begins empty.
func (p *placed) warnOfMoved() {
	if !p.stored.Exists() || !p.next.Kind.HasContainers() || string(p.stored.Value.Spec) == string(p.next.Spec) {
		return
	}
	before, unread := api.DecodeWorkload(p.next.Kind, p.stored.Value.Spec)
	after, err := api.DecodeWorkload(p.next.Kind, p.next.Spec)
	if unread == nil && err == nil {
		p.result.Warnings = append(p.result.Warnings, volumes.Moved(p.next.Ref(), p.next.Ref(), before, after)...)
	}
}

// warnOfRenamed warns of a new statefulset that takes the place of one that the same set no longer holds: its claims
// have volumes of their own, which begin empty. It is the one with the same claims, if there is one alone.
func (d *applyDecision) warnOfRenamed(snap records.Snapshot, pruned []records.Read[api.Object]) {
	gone := slices.Clone(pruned)
	for _, ref := range d.result.Left {
		gone = append(gone, snap.Object(ref))
	}
	for i := range d.placed {
		p := &d.placed[i]
		if p.stored.Exists() || p.next.Kind != api.KindStatefulSet {
			continue
		}
		before := slices.DeleteFunc(slices.Clone(gone), func(o records.Read[api.Object]) bool {
			return o.Value.Scope != p.next.Scope || !sameClaims(*o.Value, p.next)
		})
		if len(before) != 1 {
			continue
		}
		old, unread := api.DecodeWorkload(p.next.Kind, before[0].Value.Spec)
		now, err := api.DecodeWorkload(p.next.Kind, p.next.Spec)
		if unread == nil && err == nil {
			p.result.Warnings = append(p.result.Warnings, volumes.Moved(before[0].Value.Ref(), p.next.Ref(), old, now)...)
		}
	}
}

// sameClaims reports whether two objects have claims, and of the same names.
func sameClaims(a, b api.Object) bool {
	one, two := volumes.Claimed(a), volumes.Claimed(b)
	return len(one) > 0 && slices.Equal(slices.Sorted(maps.Keys(one)), slices.Sorted(maps.Keys(two)))
}
