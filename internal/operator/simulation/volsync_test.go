//go:build simulate

package simulation

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"tend.dev/tend/internal/operator/simulation/cluster"
)

// The objects in every namespace that replications need: a volume, and the Secrets of two repositories. The second one
// refuses every password.
const (
	volume = "data"
	good   = "repository"
	broken = "broken-repository"
)

// bound is the finalizer of a snapshot that has its content.
const bound = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"

// replications plays VolSync and the controller of snapshots. Their kinds have a status subresource.
type replications struct {
	w *World
	// ends holds when a synchronization, or a snapshot, is done.
	ends map[types.UID]time.Time
}

func newReplications(w *World) *replications {
	return &replications{w: w, ends: map[types.UID]time.Time{}}
}

// step lets each replication and snapshot advance.
func (f *replications) step() (acted bool) {
	if f.w.storage.down.Load() {
		return false
	}
	for _, kind := range replicationKinds {
		for _, live := range f.w.cluster.List(kind) {
			switch {
			case live.GetDeletionTimestamp() != nil:
				acted = f.forget(live) || acted
			case kind == cluster.VolumeSnapshot:
				acted = f.snapshot(live) || acted
			default:
				acted = f.replication(live) || acted
			}
		}
	}
	return acted
}

// due reports whether a while has passed since the first call for an object, and whether this is that call.
func (f *replications) due(live *unstructured.Unstructured) (first, over bool) {
	ends, begun := f.ends[live.GetUID()]
	if !begun {
		f.ends[live.GetUID()] = time.Now().Add(f.w.between(time.Second, 90*time.Second))
	}
	return !begun, begun && !time.Now().Before(ends)
}

// replication synchronizes once for the manual trigger. VolSync repeats a synchronization that fails for ever.
func (f *replications) replication(live *unstructured.Unstructured) bool {
	manual := text(live, "spec", "trigger", "manual")
	failed := text(live, "status", "latestMoverStatus", "result") == "Failed"
	if failed || text(live, "status", "lastManualSync") == manual {
		return false
	}
	first, over := f.due(live)
	switch {
	case first:
		f.set(live, map[string]any{"lastSyncStartTime": now()}, "True", "SyncInProgress")
	case !over:
	case text(live, "spec", "restic", "repository") == broken:
		f.set(live, map[string]any{"latestMoverStatus": map[string]any{
			"result": "Failed", "logs": "Fatal: wrong password or no key found",
		}}, "True", "SyncInProgress")
	default:
		f.set(live, map[string]any{
			"lastManualSync": manual, "lastSyncTime": now(), "latestMoverStatus": map[string]any{"result": "Successful"},
		}, "False", "WaitingForManual")
	}
	return true
}

func (f *replications) set(live *unstructured.Unstructured, status map[string]any, synchronizing, reason string) {
	status["conditions"] = []any{map[string]any{
		"type": "Synchronizing", "status": synchronizing, "reason": reason, "message": "", "lastTransitionTime": now(),
	}}
	live.Object["status"] = status
	_, _ = f.w.cluster.Update(live, cluster.Write{By: "volsync", Status: true})
}

// snapshot takes a snapshot. It may report an error at first, and then repeats it: the next status has none.
func (f *replications) snapshot(live *unstructured.Unstructured) bool {
	if text(live, "status", "readyToUse") == "true" {
		return false
	}
	first, over := f.due(live)
	status := map[string]any{"readyToUse": over, "boundVolumeSnapshotContentName": "content-" + live.GetName()}
	switch {
	case first && f.w.sometimes(4):
		status = map[string]any{"readyToUse": false, "error": map[string]any{"message": "the driver has no space", "time": now()}}
	case first:
		live.SetFinalizers([]string{bound})
		if made, err := f.w.cluster.Update(live, cluster.Write{By: "snapshot-controller"}); err == nil {
			live = made
		}
	case !over:
		return true
	}
	live.Object["status"] = status
	_, _ = f.w.cluster.Update(live, cluster.Write{By: "snapshot-controller", Status: true})
	return true
}

// forget releases a snapshot that is being deleted.
func (f *replications) forget(live *unstructured.Unstructured) bool {
	if !slices.Contains(live.GetFinalizers(), bound) {
		return false
	}
	live.SetFinalizers(nil)
	_, _ = f.w.cluster.Update(live, cluster.Write{By: "snapshot-controller"})
	return true
}
