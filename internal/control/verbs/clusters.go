package verbs

import (
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// checkFixed refuses a change of fields that are fixed once an object is stored.
func checkFixed(snap records.Snapshot, stored records.Read[api.Object], next api.Object, found *faults) {
	if !stored.Exists() || !next.Kind.Delivered() {
		return
	}
	phase := ""
	if record, ok := snap.Get(records.StatusKey(next.Ref())); ok {
		if status, is := record.Value.(*api.DeliveredStatus); is {
			phase = status.Phase
		}
	}
	for _, fault := range api.CheckFixed(*stored.Value, next, phase) {
		found.add(Invalid, next.Ref(), fault.Field,
			"delete the object and apply it again, or keep the field as it is", "%s", fault.Detail)
	}
}

// orphan marks objects for a deletion without their cluster's answer: of a cluster all that name it.
func (d *deleteDecision) orphan(
	snap records.Snapshot, object records.Read[api.Object], opts DeleteOptions,
) (records.Read[api.Object], error) {
	switch {
	case opts.Orphan && object.Value.Kind != api.KindCluster && !object.Value.Kind.Delivered():
		return object, invalid("leave orphan out", "a %s is in no cluster, so it can't be left there",
			object.Value.Kind)
	case opts.Orphan && object.Value.Kind.Delivered():
		return orphaned(object), nil
	case object.Value.Kind != api.KindCluster:
		return object, nil
	}
	inside := snap.InCluster(object.Value.Name)
	if len(inside) > 0 && !opts.Orphan {
		return object, &Error{Reason: InUse,
			Detail: fmt.Sprintf("%s are in cluster %s; nothing was deleted", plural(len(inside), "object"),
				object.Value.Name),
			Next: "delete them first; if the cluster is gone for good: tend delete cluster " + object.Value.Name + " --orphan"}
	}
	for _, in := range inside {
		in = orphaned(in)
		d.result.Pruned = append(d.result.Pruned, in.Value.Ref())
		removeObject(d.txn, in, d.result.DeletedAt)
	}
	return object, nil
}

func orphaned(object records.Read[api.Object]) records.Read[api.Object] {
	next := *object.Value
	next.Metadata.Stamps = next.Metadata.CopyStamps()
	next.Metadata.Stamps[api.StampOrphan] = "true"
	object.Value = &next
	return object
}
