package verbs

import (
	"bytes"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

// withdraw takes back the fields that a sync set on objects which its source no longer names. What it created itself
// stays as it is, unless it is pruned.
func (d *applyDecision) withdraw(
	snap records.Snapshot, objects []api.Object, pruned []records.Read[api.Object], opts ApplyOptions, now time.Time,
) error {
	if opts.Sync == nil {
		return nil
	}
	named := make(map[api.Ref]bool, len(objects)+len(pruned))
	for _, object := range objects {
		named[object.Ref()] = true
	}
	for _, object := range pruned {
		named[object.Value.Ref()] = true
	}
	taken, err := opts.withdrawn(snap, named, now)
	d.placed = append(d.placed, taken...)
	return err
}

// withdrawn returns the objects without the fields that a manager set, for each object that it set one of and that is
// neither named nor its own creation.
func (s FieldManager) withdrawn(snap records.Snapshot, named map[api.Ref]bool, now time.Time) (out []placed, err error) {
	mention := []byte(`"` + s.manager() + `"`)
	for _, kind := range api.Kinds {
		for object := range snap.Objects(kind) {
			old := *object.Value
			if !bytes.Contains(old.Metadata.Fields, mention) || named[old.Ref()] || s.keeps(old) ||
				old.Metadata.Deleting() {
				continue
			}
			next := old
			next.Spec, next.Metadata.Revision = []byte("{}"), 0
			owned, err := s.own(old, next, now, nil)
			if err != nil {
				return nil, err
			}
			next = owned.object
			if len(owned.changes) > 0 {
				next.Metadata.Generation++
			}
			out = append(out, placed{stored: object, next: next, withdrawn: true})
		}
	}
	return out, nil
}

// keeps reports whether the manager created an object that no user has applied since.
func (s FieldManager) keeps(object api.Object) bool {
	set, _, _ := strings.Cut(object.Metadata.Stamps[api.StampApplySet], "/")
	return object.Creator() == s.manager() && set == s.manager()
}

// withdrawAll takes back the fields that a sync which is being deleted set on objects of others.
func (s *Service) withdrawAll(snap records.Snapshot, d *deleteDecision, opts DeleteOptions) error {
	named, now := map[api.Ref]bool{}, s.opts.Now()
	for _, ref := range d.result.Pruned {
		named[ref] = true
	}
	by := FieldManager{Manager: api.SyncManager(d.result.Object.Name), Actor: opts.Actor}
	taken, err := by.withdrawn(snap, named, now)
	for _, p := range taken {
		if err := s.checkWrite(snap, p.next); err != nil {
			return err
		}
		p.next.Metadata.UpdatedAt, p.next.Metadata.Change = now, &api.Change{Verb: "apply", Actor: opts.Actor}
		key := records.ObjectKey(p.next.Ref())
		d.txn.If(key, p.stored.Modified).Put(key, p.next)
	}
	return err
}
