package verbs

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ownership"
	"tend.dev/tend/internal/store/records"
)

// withdraw takes back the fields that a sync set on objects which its source no longer names. What it created itself
// stays as it is, unless it is pruned, and is released.
func (d *applyDecision) withdraw(
	snap records.Snapshot, pruned []records.Read[api.Object], opts ApplyOptions, now time.Time,
) error {
	if opts.Sync == nil {
		return nil
	}
	named := make(map[api.Ref]bool, len(d.placed)+len(pruned))
	for _, p := range d.placed {
		named[p.next.Ref()] = true
	}
	for _, object := range pruned {
		named[object.Value.Ref()] = true
	}
	taken, err := opts.withdrawn(snap, named, now)
	d.placed = append(d.placed, taken...)
	return err
}

// withdrawn returns the objects without the fields that a manager set, for each object that it set one of and that is
// not named. Of what it created it gives up the fields, and they stay.
func (s FieldManager) withdrawn(
	snap records.Snapshot, named map[api.Ref]bool, now time.Time,
) (out []placed, err error) {
	for object := range s.mentioned(snap) {
		if named[object.Value.Ref()] || object.Value.Metadata.Deleting() {
			continue
		}
		take := s.withdrawFrom
		if s.keeps(*object.Value) {
			take = s.release
		}
		p, err := take(object, now)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// mentioned returns the objects of which the manager set a field.
func (s FieldManager) mentioned(snap records.Snapshot) iter.Seq[records.Read[api.Object]] {
	mention := []byte(`"manager":"` + s.manager() + `"`)
	return func(yield func(records.Read[api.Object]) bool) {
		for _, kind := range api.Kinds {
			for object := range snap.Objects(kind) {
				if bytes.Contains(object.Value.Metadata.Fields, mention) && !yield(object) {
					return
				}
			}
		}
	}
}

// withdrawFrom returns an object without the fields that the manager alone set.
func (s FieldManager) withdrawFrom(object records.Read[api.Object], now time.Time) (placed, error) {
	next := *object.Value
	next.Spec, next.Metadata.Revision = []byte("{}"), 0
	owned, err := s.own(*object.Value, next, now, nil)
	if err != nil {
		return placed{}, err
	}
	next = owned.object
	if len(owned.changes) > 0 {
		next.Metadata.Generation++
		next.Metadata.Stamps = next.Metadata.CopyStamps()
		unpin(next.Metadata.Stamps) // it is no longer the spec that a rollback returned to
	}
	return placed{stored: object, next: next, withdrawn: true}, nil
}

// release returns an object as it is, of which the manager owns nothing any more.
func (s FieldManager) release(object records.Read[api.Object], _ time.Time) (placed, error) {
	next := *object.Value
	spec, err := ownership.Parse(next.Spec)
	if err != nil {
		return placed{}, err
	}
	next.Metadata.Revision = 0
	next.Metadata.Fields, err = ownership.Release(ownership.Stored{Spec: spec, Fields: next.Metadata.Fields,
		Since: next.Metadata.UpdatedAt}, s.manager())
	return placed{stored: object, next: next, released: true}, err
}

// keeps reports whether the manager created an object that no user has applied since.
func (s FieldManager) keeps(object api.Object) bool {
	set, _, _ := strings.Cut(object.Metadata.Stamps[api.StampApplySet], "/")
	return object.Creator() == s.manager() && set == s.manager()
}

// endSync adds what becomes of the objects of a sync that is being deleted. With prune it deletes what the sync
// created, and takes back the fields that it set on objects of others; without, all stays as it is. Either way it owns
// nothing any more.
func (s *Service) endSync(snap records.Snapshot, d *deleteDecision, opts DeleteOptions) error {
	by, now := FieldManager{Manager: api.SyncManager(d.result.Object.Name), Actor: opts.Actor}, s.opts.Now()
	var changed []placed
	named := map[api.Ref]bool{d.result.Object: true} // a sync may declare itself, and is deleted already
	if opts.Prune {
		set := slices.DeleteFunc(prunable(snap, nil, api.SyncSet(*snap.Object(d.result.Object).Value)),
			func(object records.Read[api.Object]) bool { return named[object.Value.Ref()] })
		gone, spared, err := s.spare(snap, set, by, now)
		if err != nil {
			return err
		}
		for _, object := range gone {
			named[object.Value.Ref()] = true
			d.result.Pruned = append(d.result.Pruned, object.Value.Ref())
			removeObject(d.txn, object, now)
		}
		for _, p := range spared {
			named[p.next.Ref()] = true
		}
		taken, err := by.withdrawn(snap, named, now)
		if err != nil {
			return err
		}
		changed = slices.Concat(spared, taken)
	} else {
		for object := range by.mentioned(snap) {
			if named[object.Value.Ref()] {
				continue
			}
			p, err := by.release(object, now)
			if err != nil {
				return err
			}
			changed = append(changed, p)
		}
	}
	for _, p := range changed {
		if err := s.checkWrite(snap, p.next, nil); err != nil && !p.released {
			return err
		}
		p.next.Metadata.UpdatedAt, p.next.Metadata.Change = now, &api.Change{Verb: "apply", Actor: opts.Actor}
		key := records.ObjectKey(p.next.Ref())
		d.txn.If(key, p.stored.Modified).Put(key, p.next)
	}
	return nil
}
