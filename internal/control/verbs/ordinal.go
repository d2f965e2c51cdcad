package verbs

import (
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
)

// freezeOrdinals marks ordinals, all of them if none is named. An ordinal is a place of its own, so it is frozen
// whether or not it has a task now, and stays so through rollouts and scaling; the object must be the one that was
// read, so that the ordinal is one of its own.
func freezeOrdinals(decided *Decision[api.StopResult], object records.Read[api.Object],
	marked map[string]records.Read[api.Frozen],
	slots []string, actor string, now time.Time,
) error {
	spec, err := api.DecodeSpec[api.StatefulSetSpec](*object.Value)
	if err != nil {
		return err
	}
	ref := object.Value.Ref()
	if len(slots) == 0 {
		for n := range spec.ReplicaCount() {
			slots = append(slots, strconv.Itoa(n))
		}
	}
	for _, slot := range slots {
		if err := checkOrdinal(ref, slot, spec.ReplicaCount()); err != nil {
			return err
		}
		decided.result.Pods = append(decided.result.Pods, podName(ref, slot))
		if !marked[slot].Exists() {
			key := records.FrozenKey(ref, slot)
			decided.txn.If(key, 0).Put(key, api.Frozen{Slot: slot, By: actor, At: now})
		}
	}
	decided.txn.If(records.ObjectKey(ref), object.Modified)
	return nil
}

// checkOrdinal returns an error unless a slot is a wanted ordinal.
func checkOrdinal(ref api.Ref, slot string, replicas int) error {
	n, err := strconv.Atoi(slot)
	switch {
	case err != nil || n < 0 || strconv.Itoa(n) != slot:
		return invalid("an ordinal is a number from 0", "%q is not an ordinal", slot)
	case n >= replicas:
		return notFound("`tend get pods` lists what runs", "%s has no ordinal %d: it has %s", ref, n,
			plural(replicas, "replica"))
	}
	return nil
}

// claimVolumes returns the volumes of one ordinal.
func claimVolumes(ref api.Ref, claims []api.VolumeClaim, ordinal int) []string {
	out := make([]string, len(claims))
	for i, claim := range claims {
		out[i] = api.ClaimVolume(ref, claim.Name, ordinal)
	}
	return out
}

// keptVolumes returns the volumes that stay when an object is deleted: those of every ordinal that is wanted or has a
// task, and those that an ordinal left behind when the object was scaled down.
func keptVolumes(snap records.Snapshot, object api.Object) []string {
	if object.Kind != api.KindStatefulSet {
		return nil
	}
	spec, err := api.DecodeSpec[api.StatefulSetSpec](object)
	if err != nil {
		return nil // it goes all the same
	}
	var out []string
	from := ordinals(snap, object.Ref(), spec)
	for n := range from {
		out = append(out, claimVolumes(object.Ref(), spec.VolumeClaims, n)...)
	}
	for _, left := range volumes.Left(snap.Homes(), object.Ref(), spec.VolumeClaims, from) {
		out = append(out, left.Volume)
	}
	return out
}

// ordinals returns how many ordinals are wanted or have a task, counted from 0 to the last.
func ordinals(snap records.Snapshot, ref api.Ref, spec api.StatefulSetSpec) int {
	count := spec.ReplicaCount()
	for _, task := range snap.TasksOf(ref) {
		if n, ok := task.Value.Ordinal(); ok {
			count = max(count, n+1)
		}
	}
	return count
}
