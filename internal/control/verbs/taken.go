package verbs

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// markTaken records of which set the objects were that the set of the apply takes over, for a person to read: two
// folders may declare one object, and the prune of the last one deletes it.
func (d *applyDecision) markTaken(snap records.Snapshot, opts ApplyOptions) {
	if opts.Set == "" || opts.manager() != api.ManagerApply || d.isMove(snap) {
		return
	}
	for i := range d.placed {
		p := &d.placed[i]
		if former := p.formerSet(); former != "" {
			p.result.FormerSet = former
			p.next.Metadata.Stamps = with(p.next.Metadata.Stamps, api.StampFormerSet, former)
		}
	}
}

// formerSet returns the other set that an object leaves; empty if it leaves none.
func (p *placed) formerSet() string {
	if !p.stored.Exists() || p.withdrawn || p.released {
		return ""
	}
	former := p.stored.Value.Metadata.Stamps[api.StampApplySet]
	if former == p.next.Metadata.Stamps[api.StampApplySet] {
		return ""
	}
	return former
}

// isMove reports whether the apply takes over all objects of one set, and holds no others: the files were renamed, or
// are applied on another machine.
func (d *applyDecision) isMove(snap records.Snapshot) bool {
	set, moved := "", map[api.Ref]bool{}
	for i := range d.placed {
		former := d.placed[i].formerSet()
		if former == "" || set != "" && former != set {
			return false
		}
		set, moved[d.placed[i].next.Ref()] = former, true
	}
	for _, kind := range api.Kinds {
		for object := range snap.Objects(kind) {
			meta := object.Value.Metadata
			if meta.Stamps[api.StampApplySet] == set && !moved[object.Value.Ref()] && !meta.Deleting() {
				return false
			}
		}
	}
	return true
}
