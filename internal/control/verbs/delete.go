package verbs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
)

type deleteDecision struct {
	txn    *records.Txn
	result api.DeleteResult
}

func (d *deleteDecision) transaction() *records.Txn { return d.txn }

// DeleteOptions say what is deleted besides the object. The zero value keeps its bucket and its volumes.
type DeleteOptions struct {
	// Prune removes the config of the object's own bucket. It is refused while another object reads it by env_from. Of
	// a sync it removes the objects that it created, and the fields that it set on others.
	Prune bool
	// Volumes removes the volumes of a statefulset's ordinals that have a pod, with all their data.
	Volumes bool
	// DryRun decides and answers, but deletes nothing.
	DryRun bool
	// Orphan deletes an object without asking its Kubernetes cluster: what was applied there stays. Of a cluster it
	// does so with every object that names it.
	Orphan bool
	Actor  string
	rights source.Rights
	// Through takes the commit; see FieldManager.
	Through records.Committer
}

// Delete asks that an object and everything made for it go. Asking twice is not an error; the answer says so.
func (s *Service) Delete(ctx context.Context, target Target, actor string) (api.DeleteResult, error) {
	return s.DeleteWith(ctx, target, DeleteOptions{Actor: actor})
}

// DeleteWith is Delete with options.
func (s *Service) DeleteWith(ctx context.Context, target Target, opts DeleteOptions) (api.DeleteResult, error) {
	opts.rights = RightsOf(ctx)
	prepare := func(snap records.Snapshot) (*deleteDecision, error) {
		decided, err := prepareDelete(snap, target, opts, s.opts.Now())
		if err == nil && decided.result.Object.Kind == api.KindSync {
			err = s.endSync(snap, decided, opts)
		}
		return decided, err
	}
	if opts.DryRun {
		decided, _, err := consider(ctx, s, prepare)
		if err != nil {
			return api.DeleteResult{}, err
		}
		decided.result.DryRun = true
		return decided.result, nil
	}
	decided, revision, err := decideThrough(FieldManager{Actor: opts.Actor}.asks(ctx, "delete"), s, opts.Through,
		prepare)
	if err != nil {
		return api.DeleteResult{}, err
	}
	result := decided.result
	if revision != 0 {
		result.Revision = revision
	}
	s.note(ctx, "delete", opts.Actor, revision, result.Object)
	return result, nil
}

func prepareDelete(snap records.Snapshot, target Target, opts DeleteOptions, now time.Time) (*deleteDecision, error) {
	object, err := target.findExactly(snap)
	if err != nil {
		return nil, err
	}
	if err := refuseRemoval(opts.rights, *object.Value); err != nil {
		return nil, err
	}
	decided := &deleteDecision{txn: records.NewTxn("delete"), result: api.DeleteResult{
		Object: object.Value.Ref(), DeletedAt: now, Revision: object.Modified,
	}}
	if at := object.Value.Metadata.DeletedAt; at != nil {
		decided.result.Already, decided.result.DeletedAt = true, *at
		if opts.Orphan && object.Value.Kind.Delivered() && object.Value.Metadata.Stamps[api.StampOrphan] == "" {
			removeObject(decided.txn, orphaned(object), *at)
		}
		return decided, decided.prune(snap, *object.Value, opts)
	}
	if err := checkUnused(snap, object.Value.Ref(), opts.rights); err != nil {
		return nil, err
	}
	decided.result.Dependents = slices.DeleteFunc(dependents(snap, object.Value.Ref()),
		func(d api.Dependent) bool { return !opts.rights.Sees(d.Ref.Scope) })
	decided.result.Volumes = keptVolumes(snap, *object.Value)
	if opts.Volumes {
		object = decided.removeVolumes(snap, object)
	}
	if object, err = decided.orphan(snap, object, opts); err != nil {
		return nil, err
	}
	removeObject(decided.txn, object, now)
	return decided, decided.prune(snap, *object.Value, opts)
}

// removeVolumes marks the volumes of an object's pods for removal with them, and those that ordinals of before a scale
// down left on the nodes of these pods. Those of other ordinals without a pod, or whose node is off, stay, because no
// agent would remove them.
func (d *deleteDecision) removeVolumes(
	snap records.Snapshot, object records.Read[api.Object],
) records.Read[api.Object] {
	if object.Value.Kind != api.KindStatefulSet {
		return object
	}
	spec, err := api.DecodeSpec[api.StatefulSetSpec](*object.Value)
	if err != nil {
		return object
	}
	acting := map[string]bool{} // nodes with a task that is removed with its volumes
	for _, task := range snap.TasksOf(object.Value.Ref()) {
		if task.Value.Desired == api.DesiredRemoved && !task.Value.Wipe {
			continue // its agent may be done with it, without its volumes
		}
		if n, ok := task.Value.Ordinal(); ok && task.Value.Node != "" && !isOff(snap, *task.Value) {
			d.result.RemovedVolumes = append(d.result.RemovedVolumes, volumesOfTask(snap, *task.Value, spec, n)...)
			acting[task.Value.Node] = true
		}
	}
	ref := object.Value.Ref()
	for _, left := range volumes.Left(snap.Homes(), ref, spec.VolumeClaims, ordinals(snap, ref, spec)) {
		if acting[left.Node] {
			d.result.RemovedVolumes = append(d.result.RemovedVolumes, left.Volume)
		}
	}
	slices.Sort(d.result.RemovedVolumes)
	d.result.RemovedVolumes = slices.Compact(d.result.RemovedVolumes)
	d.result.Volumes = slices.DeleteFunc(d.result.Volumes,
		func(volume string) bool { return slices.Contains(d.result.RemovedVolumes, volume) })
	next := *object.Value
	next.Metadata.Stamps = next.Metadata.CopyStamps()
	next.Metadata.Stamps[api.StampWipe] = "true"
	object.Value = &next
	return object
}

// isOff reports whether a task ended because a person said that its node is off, and the node doesn't answer.
func isOff(snap records.Snapshot, task api.Task) bool {
	status := snap.TaskStatus(task.ID)
	return status.Exists() && status.Value.State.Terminal() && status.Value.Reason == api.ReasonNodeDown &&
		!snap.Alive(task.Node)
}

// prune removes the keys of the object's own bucket. Kinds without containers have none: one of their name belongs to
// another object. What a sync created is removed by endSync.
func (d *deleteDecision) prune(snap records.Snapshot, object api.Object, opts DeleteOptions) error {
	if !opts.Prune || !object.Kind.HasContainers() {
		return nil
	}
	ref, bucket := object.Ref(), Bucket{Scope: object.Scope, Name: object.Name}
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		for other := range snap.Objects(kind) {
			if other.Value.Ref() != ref && !other.Value.Metadata.Deleting() &&
				env.ReadBy(*other.Value, env.Bucket(bucket)) {
				return &Error{Reason: InUse, Detail: fmt.Sprintf(
					"%s reads the config of %s (env_from); nothing was deleted",
					faultsOf(nil, opts.rights).named(other.Value.Ref()), bucket),
					Next: "delete without pruning, or change what reads it first"}
			}
		}
	}
	for record := range snap.Prefix(bucket.prefix()) {
		d.txn.If(record.Key, record.Modified).Delete(record.Key)
		if marked, there := snap.Get(records.ConfinedKey(record.Key)); there {
			d.txn.Delete(marked.Key)
		}
		d.result.RemovedConfig = append(d.result.RemovedConfig, strings.TrimPrefix(record.Key, bucket.prefix()))
	}
	for _, reader := range configReaders(snap, env.Bucket(bucket), d.result.RemovedConfig) {
		if reader.Ref != ref && opts.rights.Sees(reader.Ref.Scope) {
			d.result.Dependents = append(d.result.Dependents, reader)
		}
	}
	return nil
}

// removeObject marks an object for deletion. An object without finalizers is deleted at once.
func removeObject(txn *records.Txn, object records.Read[api.Object], now time.Time) {
	next := *object.Value
	key := records.ObjectKey(next.Ref())
	txn.If(key, object.Modified)
	if len(next.Metadata.Finalizers) == 0 {
		txn.Delete(key)
		return
	}
	next.Metadata.Revision = 0
	next.Metadata.DeletedAt = &now
	next.Metadata.UpdatedAt = now
	txn.Put(key, next)
}
