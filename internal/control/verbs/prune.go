package verbs

import (
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ownership"
	"tend.dev/tend/internal/store/records"
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

// prune returns what an apply deletes, and adds what it takes its fields back from.
func (s *Service) prune(
	snap records.Snapshot, d *applyDecision, objects []api.Object, opts ApplyOptions, now time.Time,
) ([]records.Read[api.Object], error) {
	if !opts.Prune {
		d.nameLeft(snap, objects, opts)
		return nil, nil
	}
	gone, spared, err := s.spare(snap, prunable(snap, objects, opts.Set), opts.FieldManager, now)
	if err != nil {
		return nil, err
	}
	d.placed = append(d.placed, spared...)
	return gone, opts.checkPruned(gone)
}

// remove deletes what is pruned.
func (d *applyDecision) remove(pruned []records.Read[api.Object], now time.Time) {
	for _, object := range pruned {
		d.result.Pruned = append(d.result.Pruned, object.Value.Ref())
		removeObject(d.txn, object, now)
	}
}

// nameLeft adds what the set of a person's apply no longer holds to the result: a renamed object runs on under its old
// name.
func (d *applyDecision) nameLeft(snap records.Snapshot, objects []api.Object, opts ApplyOptions) {
	if opts.Set == "" || opts.manager() != api.ManagerApply {
		return
	}
	for _, object := range prunable(snap, objects, opts.Set) {
		switch ref := object.Value.Ref(); {
		case !opts.rights.Sees(ref.Scope):
		case len(d.result.Left) == api.MaxLeft:
			d.result.MoreLeft++
		default:
			d.result.Left = append(d.result.Left, ref)
		}
	}
}

// spare divides what a set no longer holds into what is deleted and what another manager still declares: of that the
// pruning one takes back its own fields, and the other one has created it from now on.
func (s *Service) spare(snap records.Snapshot, pruned []records.Read[api.Object], by FieldManager, now time.Time,
) (gone []records.Read[api.Object], spared []placed, err error) {
	for _, object := range pruned {
		other, err := otherDeclarer(snap, *object.Value, by.manager())
		if err != nil {
			return nil, nil, err
		}
		if other == "" {
			gone = append(gone, object)
			continue
		}
		p, err := by.withdrawFrom(object, now)
		if err != nil {
			return nil, nil, err
		}
		if len(checkObject(p.next, s.opts.Validate)) > 0 { // the other one only adds fields to what goes
			gone = append(gone, object)
			continue
		}
		p.next.Metadata.Stamps = handedTo(snap, p.next.Metadata.Stamps, other)
		spared = append(spared, p)
	}
	return gone, spared, nil
}

// otherDeclarer returns another manager that declares an object: a sync that there is, or else the users' manager;
// empty for none.
func otherDeclarer(snap records.Snapshot, object api.Object, self string) (string, error) {
	if len(object.Metadata.Fields) == 0 {
		return "", nil // nobody was recorded then
	}
	spec, err := ownership.Parse(object.Spec)
	if err != nil {
		return "", err
	}
	managers, err := ownership.Managers(ownership.Stored{Spec: spec, Fields: object.Metadata.Fields,
		Since: object.Metadata.UpdatedAt})
	if err != nil {
		return "", err
	}
	for _, manager := range managers {
		if manager != self && isSync(manager) && exists(snap, manager) {
			return manager, nil
		}
	}
	if self != api.ManagerApply && slices.Contains(managers, api.ManagerApply) {
		return api.ManagerApply, nil
	}
	return "", nil
}

// handedTo returns the stamps of an object once another manager has created it.
func handedTo(snap records.Snapshot, stamps map[string]string, manager string) map[string]string {
	if !isSync(manager) {
		return without(without(stamps, api.StampCreator), api.StampApplySet)
	}
	return with(with(stamps, api.StampCreator, manager), api.StampApplySet, api.SyncSet(*syncOf(snap, manager).Value))
}

func isSync(manager string) bool { return strings.HasPrefix(manager, api.SyncManager("")) }

func syncOf(snap records.Snapshot, manager string) records.Read[api.Object] {
	name := strings.TrimPrefix(manager, api.SyncManager(""))
	return snap.Object(api.Ref{Kind: api.KindSync, Scope: api.Unscoped, Name: name})
}

// exists reports whether a manager can still declare something: a sync that is gone can't.
func exists(snap records.Snapshot, manager string) bool {
	if !isSync(manager) {
		return manager != api.ManagerReleased
	}
	sync := syncOf(snap, manager)
	return sync.Exists() && !sync.Value.Metadata.Deleting()
}

// lasting drops the conflicts with managers that are gone.
func lasting(snap records.Snapshot, conflicts []api.FieldConflict) []api.FieldConflict {
	return slices.DeleteFunc(conflicts, func(c api.FieldConflict) bool { return !exists(snap, c.Manager) })
}
