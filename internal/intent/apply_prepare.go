package intent

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

// applyDecision is what an apply comes to on one picture of the store.
type applyDecision struct {
	txn    *layout.Txn
	result api.ApplyResult
	// next are the objects that are written, as they will be stored.
	next []api.Object
	// merged are all objects as they will be, written or not.
	merged []api.Object
}

func (d *applyDecision) transaction() *layout.Txn { return d.txn }

func (d *applyDecision) written() []api.Ref {
	refs := make([]api.Ref, 0, len(d.next)+len(d.result.Pruned))
	for _, object := range d.next {
		refs = append(refs, object.Ref())
	}
	return append(refs, d.result.Pruned...)
}

// prepareApply decides an apply of objects whose form was checked.
func (s *Service) prepareApply(snap layout.Snapshot, objects []api.Object, opts ApplyOptions) (*applyDecision, error) {
	decided, now := &applyDecision{txn: layout.NewTxn("apply")}, s.opts.Now()
	found := &faults{}
	claimed := claims{}
	for _, object := range objects {
		stored := snap.Object(object.Ref())
		if stored.Exists() && stored.Value.Metadata.Deleting() {
			found.add(Terminating, object.Ref(), "", nextTerminating, "is being deleted")
			continue
		}
		claimed.check(snap, object.Ref(), found)
		if err := decided.place(stored, object, opts, now, s.opts.NewUID); err != nil {
			return nil, err
		}
		if !opts.DryRun {
			opts.refuse(object.Ref(), decided.result.Objects[len(decided.result.Objects)-1].Conflicts, found)
		}
	}
	if err := checkObjects(decided.merged, s.opts.Validate); err != nil {
		return nil, err
	}
	var pruned []layout.Read[api.Object]
	if opts.Prune {
		pruned = prunable(snap, objects, opts.Set)
	}
	checkPorts(snap, decided.next, pruned, found)
	if err := found.err(conflictsText(found)); err != nil {
		return nil, err
	}
	for _, object := range pruned {
		decided.result.Pruned = append(decided.result.Pruned, object.Value.Ref())
		removeObject(decided.txn, object, now)
	}
	return decided, nil
}

// place adds one object to the decision: what becomes of it, and the write if it is not as stored already.
func (d *applyDecision) place(stored layout.Read[api.Object], object api.Object, opts ApplyOptions, now time.Time,
	newUID func() string,
) error {
	next, result, err := merge(stored, object, opts, now, newUID)
	if err != nil {
		return err
	}
	d.merged = append(d.merged, next)
	written := !stored.Exists() || !sameObject(*stored.Value, next)
	switch {
	case stored.Exists() && (!written || sameButSet(*stored.Value, next)):
		result.Action = api.ActionUnchanged
	case stored.Exists():
		result.Action = api.ActionConfigured
	}
	d.result.Objects = append(d.result.Objects, result)
	if !written {
		return nil
	}
	next.Metadata.UpdatedAt = now
	d.next = append(d.next, next)
	d.txn.If(layout.ObjectKey(next.Ref()), stored.Modified).Put(layout.ObjectKey(next.Ref()), next)
	if !stored.Exists() && ownsName(next.Kind) {
		d.txn.If(layout.NameKey(next.Ref()), 0).Put(layout.NameKey(next.Ref()), next.Ref())
	}
	return nil
}

func stampsAfter(old api.Object, changes []api.FieldChange, opts ApplyOptions, now time.Time) map[string]string {
	stamps := maps.Clone(old.Metadata.Stamps)
	if stamps == nil {
		stamps = map[string]string{}
	}
	if opts.Set != "" {
		stamps[api.StampApplySet] = opts.Set
	}
	if opts.Force {
		stamps[api.StampPull] = strconv.FormatInt(now.UnixMilli(), 36)
	}
	if opts.Force || asksForRelease(changes) {
		// What a rollback pinned holds until the spec says something else; a count of replicas doesn't.
		delete(stamps, api.StampRollback)
	}
	if len(stamps) == 0 {
		return nil
	}
	return stamps
}

// sameButSet says whether all that differs is which sources the object was applied from: a note of ours for --prune, no
// change to whoever declared it.
func sameButSet(stored, next api.Object) bool {
	stored.Metadata.Stamps, next.Metadata.Stamps = maps.Clone(stored.Metadata.Stamps), maps.Clone(next.Metadata.Stamps)
	delete(stored.Metadata.Stamps, api.StampApplySet)
	delete(next.Metadata.Stamps, api.StampApplySet)
	return sameObject(stored, next)
}

// sameObject says whether writing next would change anything that was stored.
func sameObject(stored, next api.Object) bool {
	a, b := stored.Metadata, next.Metadata
	return a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) &&
		maps.Equal(a.Annotations, b.Annotations) && maps.Equal(a.Stamps, b.Stamps) &&
		slices.Equal(a.Finalizers, b.Finalizers) && bytes.Equal(a.Fields, b.Fields)
}
