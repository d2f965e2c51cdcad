//go:build simulate

package simulation

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"tend.dev/tend/internal/operator/simulation/cluster"
)

// veleroSystem is the namespace of Velero. It watches no other one.
const veleroSystem = "velero"

// The resources that decide how Velero's work ends.
const (
	failsResource   = "fails"
	partialResource = "partial"
)

// releases is the finalizer of Velero's restores.
const releases = "restores.velero.io/external-resources-finalizer"

// velero plays Velero. Its kinds have no status subresource.
type velero struct {
	w *World
	// ends holds when the work on a Backup or Restore ends.
	ends map[types.UID]time.Time
	// stopped: it did not run at the last step.
	stopped bool
}

func newVelero(w *World) *velero { return &velero{w: w, ends: map[types.UID]time.Time{}} }

// step lets each Backup and Restore advance.
func (v *velero) step() (acted bool) {
	if v.w.storage.down.Load() {
		v.stopped = true
		return false
	}
	for _, kind := range backupKinds {
		for _, live := range v.w.cluster.List(kind) {
			if live.GetNamespace() == veleroSystem {
				acted = v.advance(live) || acted
			}
		}
	}
	v.stopped = false
	return acted
}

// advance takes the next step of an object.
func (v *velero) advance(live *unstructured.Unstructured) bool {
	if live.GetDeletionTimestamp() != nil {
		return v.forget(live)
	}
	phase := text(live, "status", "phase")
	ends, begun := v.ends[live.GetUID()]
	switch {
	case v.stopped && phase == "InProgress":
		v.set(live, "Failed", "failureReason", "found it in progress when the server started")
	case phase == "":
		if faults := v.faults(live); len(faults) > 0 {
			v.set(live, "FailedValidation", "validationErrors", faults)
			return true
		}
		if live.GetKind() == cluster.Restore.Kind {
			live.SetFinalizers([]string{releases})
		}
		v.ends[live.GetUID()] = time.Now().Add(v.w.between(time.Second, 90*time.Second))
		v.set(live, "InProgress", "startTimestamp", now())
	case phase != "InProgress" && phase != "Finalizing" || !begun:
		return false
	case time.Now().Before(ends):
	case phase == "InProgress" && !selects(live, failsResource) && !selects(live, partialResource):
		v.set(live, "Finalizing", "progress", map[string]any{"totalItems": int64(7), "itemsBackedUp": int64(7)})
	case phase == "Finalizing":
		v.set(live, "Completed", "completionTimestamp", now())
	case selects(live, failsResource):
		v.set(live, "Failed", "failureReason", "no space left on the storage")
	default:
		v.set(live, "PartiallyFailed", "errors", int64(2))
	}
	return true
}

// faults returns why Velero refuses to begin.
func (v *velero) faults(live *unstructured.Unstructured) []any {
	if live.GetKind() == cluster.Backup.Kind {
		if text(live, "spec", "storageLocation") != "default" {
			return []any{"a BackupStorageLocation CRD with the name specified in the backup spec needs to be created"}
		}
		return nil
	}
	from := v.w.cluster.Get(cluster.Backup, veleroSystem, text(live, "spec", "backupName"))
	if phase := text(from, "status", "phase"); phase != "Completed" && phase != "PartiallyFailed" {
		return []any{"the backup does not exist, or has not completed"}
	}
	return nil
}

// forget releases what is being deleted.
func (v *velero) forget(live *unstructured.Unstructured) bool {
	if !slices.Contains(live.GetFinalizers(), releases) {
		return false
	}
	live.SetFinalizers(nil)
	_, _ = v.w.cluster.Update(live, cluster.Write{By: "velero"})
	return true
}

func (v *velero) set(live *unstructured.Unstructured, phase, field string, value any) {
	status, _, _ := unstructured.NestedMap(live.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	status["phase"], status[field] = phase, value
	live.Object["status"] = status
	_, _ = v.w.cluster.Update(live, cluster.Write{By: "velero"})
}

// selects reports whether the spec of an object of Velero includes a resource.
func selects(live *unstructured.Unstructured, resource string) bool {
	included, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "includedResources")
	return slices.Contains(included, resource)
}
