package verbs

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// merge returns the object as it will be stored, and the outcome: the declared spec with what other managers own, the
// labels and the annotations, over what Tend stored with the object.
func merge(stored records.Read[api.Object], declared api.Object, opts ApplyOptions, now time.Time, newUID func() string,
) (api.Object, api.ObjectResult, error) {
	var old api.Object
	scaled := false
	if stored.Exists() {
		old = *stored.Value
	}
	if opts.manager() == api.ManagerApply {
		var err error
		scaled = isScaled(old, declared)
		if declared, err = keepScale(old, declared); err != nil {
			return api.Object{}, api.ObjectResult{}, err
		}
	}
	next := api.Object{Kind: declared.Kind, Scope: declared.Scope, Name: declared.Name, Spec: normalSpec(declared.Spec)}
	if stored.Exists() {
		next.Metadata = old.Metadata
	} else {
		next.Metadata = api.Metadata{UID: newUID(), CreatedAt: now, Finalizers: finalizersOf(declared.Kind)}
	}
	next.Metadata.Revision = 0
	if !stored.Exists() || opts.manager() == api.ManagerApply || opts.Set != "" && api.InApplySet(old, opts.Set) {
		// Labels and annotations have no owners: an apply sets them as a whole, other managers only on what they
		// created.
		next.Metadata.Labels = declared.Metadata.Labels
		next.Metadata.Annotations = declared.Metadata.Annotations
		if denied := old.Metadata.Annotations[annotationCancel]; denied != "" &&
			old.Kind == api.KindOperation { // for good
			next.Metadata.Annotations = with(next.Metadata.Annotations, annotationCancel, denied)
		}
	}
	yielded := yields(old, declared)
	owned, err := opts.ownCounted(old, next, yielded, now)
	if err != nil {
		return api.Object{}, api.ObjectResult{}, err
	}
	next = owned.object
	next.Metadata.Stamps = stampsAfter(old, owned.changes, opts, now)
	opts.stampOrigin(old, &next, len(owned.changes) > 0)
	switch {
	case scaled: // the manifest names no replicas any more
		next.Metadata.Stamps = with(next.Metadata.Stamps, api.StampScaled, noReplicas)
	case opts.manager() == api.ManagerApply, yielded:
		delete(next.Metadata.Stamps, api.StampScaled)
	}
	if len(owned.changes) > 0 || !stored.Exists() {
		next.Metadata.Generation++
	}
	return next, api.ObjectResult{Ref: next.Ref(), Changes: owned.changes, Conflicts: owned.conflicts, Kept: owned.kept,
		Generation: next.Metadata.Generation, Revision: stored.Modified}, nil
}

// ownCounted is own, and then gives the count to the autoscaler, if one has it. A count that has yielded is no longer
// there.
func (s FieldManager) ownCounted(old, next api.Object, yielded bool, now time.Time) (owned, error) {
	live := old
	if yielded {
		var err error
		if live.Spec, err = withField(old.Spec, replicasField, nil); err != nil {
			return owned{}, err
		}
	}
	o, err := s.own(live, next, now, nil)
	if err == nil && yielded {
		o.changes, err = changesBetween(old, o.object)
	}
	if err != nil {
		return owned{}, err
	}
	return o.handOver(old, now)
}
