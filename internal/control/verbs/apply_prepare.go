package verbs

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// applyDecision is the outcome of an apply on one snapshot of the store.
type applyDecision struct {
	txn    *records.Txn
	result api.ApplyResult
	// next are the objects that are written, as they will be stored.
	next []api.Object
	// answers lists the answers of the nodes that have their images.
	answers []records.Found
	// placed are all objects, written or not.
	placed []placed
}

// placed is one object of an apply: as it is stored, as it will be, and its result.
type placed struct {
	stored records.Read[api.Object]
	next   api.Object
	result api.ObjectResult
	// tree is the source that came with it; empty if none did.
	tree string
	// refused lists the reasons why the person who applies may not declare it.
	refused refusals
	// withdrawn: the apply does not name it, and takes back the fields that its manager set.
	withdrawn bool
	// released: the apply does not name it, and its manager gives up the fields that it set; they stay.
	released bool
}

func (d *applyDecision) merged() []api.Object {
	out := make([]api.Object, len(d.placed))
	for i, p := range d.placed {
		out[i] = p.next
	}
	return out
}

// refused returns why the person who applies may not declare the objects; nil if the person may.
func (d *applyDecision) refused() error {
	var all refusals
	for _, p := range d.placed {
		all = append(all, p.refused...)
	}
	return all.err()
}

func (d *applyDecision) transaction() *records.Txn { return d.txn }

func (d *applyDecision) written() []api.Ref {
	refs := make([]api.Ref, 0, len(d.next)+len(d.result.Pruned))
	for _, object := range d.next {
		refs = append(refs, object.Ref())
	}
	return append(refs, d.result.Pruned...)
}

// prepareApply decides an apply of objects whose form is checked already.
func (s *Service) prepareApply(
	snap records.Snapshot, objects []api.Object, valid map[api.Ref]string, m material, opts ApplyOptions,
) (*applyDecision, error) {
	decided, now := &applyDecision{txn: records.NewTxn("apply")}, s.opts.Now()
	if err := opts.checkSync(snap, decided.txn); err != nil {
		return nil, err
	}
	found, claimed := faultsOf(objects, opts.rights), claims{}
	for _, object := range objects {
		stored := snap.Object(object.Ref())
		if stored.Exists() && stored.Value.Metadata.Deleting() {
			found.add(Terminating, object.Ref(), "", nextTerminating, "is being deleted")
			continue
		}
		claimed.check(snap, object.Ref(), opts.rights, found)
		p, err := s.place(snap, stored, object, opts, now, found)
		if err != nil {
			return nil, err
		}
		checkFixed(snap, p.stored, p.next, found)
		decided.placed = append(decided.placed, p)
	}
	if err := decided.refused(); err != nil {
		return nil, err
	}
	pruned, err := s.prune(snap, decided, objects, opts, now)
	if err != nil {
		return nil, err
	}
	if err := decided.withdraw(snap, pruned, opts, now); err != nil {
		return nil, err
	}
	if err := checkObjects(decided.merged(), unless(valid, s.opts.Validate)); err != nil {
		return nil, err
	}
	decided.stampHosts(snap, pruned, now)
	decided.stampAssets(snap, m, pruned, found)
	s.refuseFiles(decided, opts.rights, snap, found)
	s.refuseWithheld(decided, opts.rights, snap, found)
	decided.stampBuilds(snap, opts, now, found)
	if err := decided.retry(snap, opts, now); err != nil {
		return nil, err
	}
	decided.markTaken(snap, opts)
	s.warn(decided, snap, pruned, opts)
	decided.put(now, opts.Actor)
	decided.answer(snap, m.images, now)
	decided.checkTogether(snap, pruned, m, opts, found)
	if err := found.err(found.headline("the manifest")); err != nil {
		return nil, err
	}
	decided.remove(pruned, now)
	decided.record(opts, now)
	return decided, nil
}

// checkTogether finds what clashes among the objects of the apply, and with those that stay.
func (d *applyDecision) checkTogether(
	snap records.Snapshot, pruned []records.Read[api.Object], m material, opts ApplyOptions, found *faults,
) {
	checkRegistries(snap, d.next, pruned, found)
	checkTaken(snap, d.next, pruned, m, found)
	checkOwnNames(snap, d.next, pruned, opts.rights, found)
	checkAliases(snap, d.next, pruned, found)
	checkDependencies(snap, d.next, pruned, found)
	checkExtended(snap, d.next, found)
	checkRoutes(snap, d.next, pruned, found)
}

// place returns what becomes of one object, as far as that is its manager's to say.
func (s *Service) place(
	snap records.Snapshot, stored records.Read[api.Object], object api.Object, opts ApplyOptions,
	now time.Time, found *faults,
) (placed, error) {
	if stored.Exists() {
		if fault := opts.rights.RefuseChange(*stored.Value, opts.manager()); fault != nil {
			return placed{}, fault
		}
	}
	checkReserved(stored.Value, object, found)
	object, err := s.sealSecrets(stored, object, found)
	if err != nil {
		return placed{}, err
	}
	next, result, err := merge(stored, object, opts, now, s.opts.NewUID)
	if err != nil {
		return placed{}, err
	}
	result.Conflicts = lasting(snap, result.Conflicts)
	var refused refusals
	switch {
	case stored.Exists() && len(result.Changes) == 0 && (object.Tree() == "" || object.Tree() == next.Tree()):
	case !opts.confined():
		s.give(snap, stored.Value, &next)
	default: // what a user, or an admin, added to it must not run another program
		refused = s.refusalsOfChange(opts.rights, snap, stored.Value,
			s.hadBy(snap, stored.Value, object, next, opts), next)
	}
	if len(refused) > 0 && opts.rights.Person == "" {
		return placed{}, refused[0].fault
	}
	if !opts.DryRun {
		opts.refuse(object.Ref(), object.Spec, result.Conflicts, found)
	}
	return placed{stored: stored, next: next, result: result, tree: object.Tree(), refused: refused}, nil
}

// put adds the result of each object to the decision, and the write unless it is stored like that already.
func (d *applyDecision) put(now time.Time, actor string) {
	for _, p := range d.placed {
		written := !p.stored.Exists() || !sameObject(*p.stored.Value, p.next)
		switch {
		case !p.stored.Exists():
			p.result.Action = api.ActionCreated
		case !written || p.result.Retried || sameButSet(*p.stored.Value, p.next):
			p.result.Action = api.ActionUnchanged
		default:
			p.result.Action = api.ActionConfigured
		}
		p.result.Changes = shownChanges(p.next.Kind, p.result.Changes)
		for i, conflict := range p.result.Conflicts {
			p.result.Conflicts[i].Value = shownValue(p.next.Kind, conflict.Path, conflict.Value)
		}
		for i, kept := range p.result.Kept {
			p.result.Kept[i].Value = shownValue(p.next.Kind, kept.Path, kept.Value)
		}
		switch {
		case p.released:
		case !p.withdrawn:
			d.result.Objects = append(d.result.Objects, p.result)
		case written:
			d.result.Withdrawn = append(d.result.Withdrawn, p.next.Ref())
		}
		if !written {
			continue
		}
		p.next.Metadata.UpdatedAt, p.next.Metadata.Change = now, &api.Change{Verb: "apply", Actor: actor}
		if !p.result.Retried { // what is as it was is not checked or planned again
			d.next = append(d.next, p.next)
		}
		key := records.ObjectKey(p.next.Ref())
		d.txn.If(key, p.stored.Modified).Put(key, p.next)
		if !p.stored.Exists() && ownsName(p.next.Kind) {
			d.txn.If(records.NameKey(p.next.Ref()), 0).Put(records.NameKey(p.next.Ref()), p.next.Ref())
		}
	}
}

func stampsAfter(old api.Object, changes []api.FieldChange, opts ApplyOptions, now time.Time) map[string]string {
	stamps := old.Metadata.CopyStamps()
	if opts.Set != "" && (opts.manager() == api.ManagerApply || old.Metadata.UID == "") {
		stamps[api.StampApplySet] = opts.Set // another manager may prune only what it created
	}
	if opts.Force {
		stamps[api.StampPull] = api.NewNonce(now)
	}
	if opts.Force || asksForRelease(changes) {
		// A rollback's pin holds until the spec changes; a change of replicas doesn't count.
		unpin(stamps)
	}
	if len(stamps) == 0 {
		return nil
	}
	return stamps
}

// sameButSet reports whether at most the names of the object's sources differ: a note of Tend's for --prune, which does
// not count as a change.
func sameButSet(stored, next api.Object) bool {
	stored.Metadata.Stamps, next.Metadata.Stamps = maps.Clone(stored.Metadata.Stamps), maps.Clone(next.Metadata.Stamps)
	for _, stamps := range []map[string]string{stored.Metadata.Stamps, next.Metadata.Stamps} {
		delete(stamps, api.StampApplySet)
		delete(stamps, api.StampFormerSet)
	}
	return sameObject(stored, next)
}

// sameObject reports whether writing next would change anything that was stored.
func sameObject(stored, next api.Object) bool {
	a, b := stored.Metadata, next.Metadata
	return a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) &&
		maps.Equal(a.Annotations, b.Annotations) && maps.Equal(a.Stamps, b.Stamps) &&
		slices.Equal(a.Finalizers, b.Finalizers) && bytes.Equal(a.Fields, b.Fields)
}
