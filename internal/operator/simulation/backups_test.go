//go:build simulate

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// The kinds of Velero, and those of VolSync and of snapshots.
var (
	backupKinds      = []schema.GroupVersionKind{cluster.Backup, cluster.Restore}
	replicationKinds = []schema.GroupVersionKind{
		cluster.ReplicationSource, cluster.ReplicationDestination, cluster.VolumeSnapshot,
	}
	copyKinds = slices.Concat(backupKinds, replicationKinds)
)

// storage holds the controllers that copy data.
type storage struct {
	velero       *velero
	replications *replications
	// down: none of them runs.
	down atomic.Bool
}

// newStorage makes the namespace of Velero, and the controllers.
func newStorage(w *World) *storage {
	w.create(cluster.Namespace, "", veleroSystem, nil)
	return &storage{velero: newVelero(w), replications: newReplications(w)}
}

func stopStorage(w *World, _ *rand.Rand) { w.storage.down.Store(true) }

func startStorage(w *World, _ *rand.Rand) { w.storage.down.Store(false) }

// backUp backs an application up, by Velero, a replication or a snapshot. Some of each fail.
func backUp(w *World, random *rand.Rand) {
	target := pick(random, applications)
	if random.IntN(2) == 0 {
		w.operation(target, "Backup", "velero", pick(random, []string{
			`{}`, `{"ttl":"720h"}`, `{"includedResources":["` + failsResource + `"]}`,
			`{"includedResources":["` + partialResource + `"]}`, `{"storageLocation":"nowhere"}`,
		}))
		return
	}
	w.operation(target, "Backup", "volsync", pick(random, []string{replicated(good), replicated(broken),
		`{"pvc":"` + volume + `","volumeSnapshot":true}`}))
}

// replicated returns the parameters of a replication with a repository.
func replicated(repository string) string {
	return fmt.Sprintf(`{"pvc":%q,"repository":{"secretName":%q},"timeoutSeconds":600}`, volume, repository)
}

// restore restores an application, once a person has approved it. Velero's backup may be one that failed, or is gone.
func restore(w *World, random *rand.Rand) {
	target, from := pick(random, applications), "none"
	if all := w.cluster.List(cluster.Backup); len(all) > 0 {
		from = pick(random, all).GetName()
	}
	if random.IntN(3) == 0 {
		w.operation(target, "Restore", "volsync", replicated(pick(random, []string{good, broken}))+guarded)
		return
	}
	w.operation(target, "Restore", "velero", fmt.Sprintf(`{"backupName":%q}`, from)+guarded)
}

// deleteCopy deletes an object of Velero, VolSync or a snapshot.
func deleteCopy(w *World, random *rand.Rand) { w.removes(random, pick(random, copyKinds)) }

// copied records how far an object of Velero or VolSync is, by its own status.
func (d *deeds) copied(live *unstructured.Unstructured) {
	phase := text(live, "status", "phase")
	switch live.GroupVersionKind() {
	case cluster.Backup, cluster.Restore:
		isPartial := phase == "PartiallyFailed"
		d.ran = d.ran || phase != "" && phase != "FailedValidation"
		d.completed = d.completed || phase == "Completed" || isPartial && live.GetKind() == cluster.Backup.Kind
		d.failed = d.failed || strings.HasPrefix(phase, "Failed") || isPartial && live.GetKind() == cluster.Restore.Kind
	case cluster.ReplicationSource, cluster.ReplicationDestination:
		manual := text(live, "spec", "trigger", "manual")
		d.ran = d.ran || conditionOf(live, "Synchronizing").status != ""
		d.completed = d.completed || manual != "" && text(live, "status", "lastManualSync") == manual
	case cluster.VolumeSnapshot:
		isRepeated := text(live, "status", "error", "message") != "" // such an error ends nothing
		d.ran = d.ran || isRepeated || text(live, "status", "boundVolumeSnapshotContentName") != ""
		d.completed = d.completed || text(live, "status", "readyToUse") == "true"
	}
}

// leftCopies: what an operation made is gone with it.
func (w *World) leftCopies(differs func(string, ...any)) {
	exists := map[types.UID]bool{}
	for _, op := range w.cluster.List(cluster.Operation) {
		exists[op.GetUID()] = true
	}
	for _, kind := range copyKinds {
		for _, live := range w.cluster.List(kind) {
			if !exists[types.UID(live.GetLabels()[identity.LabelOperation])] {
				differs("the cluster has the %s %s/%s of no operation", kind.Kind, live.GetNamespace(), live.GetName())
			}
		}
	}
}

// elsewhere are the reasons of failures that don't come from the object of an operation.
var elsewhere = map[string]bool{"Timeout": true, "CreationRefused": true}

func isCancelled(op *unstructured.Unstructured) bool {
	value := op.GetAnnotations()[identity.AnnotationCancel]
	return value != "" && value != "false"
}
