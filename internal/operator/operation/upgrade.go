package operation

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/engine"
)

// blockedInEffect is the reason of Blocked of an Upgrade that is being deleted while the instance still uses its
// version or values.
const blockedInEffect = "UpgradeInEffect"

// Overlay is the version and the values that an instance's Upgrades set.
type Overlay struct {
	// Version is the chart's version, from the instance or an Upgrade.
	Version string
	// Values are merged into the instance's values, recursively, or nil.
	Values map[string]any
}

// OverlayOf returns the version and values that the instance's release should have. The controller of
// ApplicationInstance writes them, and must reconcile an instance when one of its Operations changes.
//
// An Upgrade counts while it runs and after it has succeeded, until the instance's spec changes: a later declaration is
// newer. The version is that of the last Upgrade with a version. The values are those of all Upgrades, in the order of
// their start.
func OverlayOf(instance *appsv1alpha1.ApplicationInstance, operations []opsv1alpha1.Operation) Overlay {
	return overlay(instance, effective(instance, operations))
}

// AbandonedOf returns the versions and values that the instance's release had by Upgrades of the present spec that have
// failed or were cancelled since.
func AbandonedOf(instance *appsv1alpha1.ApplicationInstance, operations []opsv1alpha1.Operation) (all []Overlay) {
	counts := effective(instance, operations)
	for _, op := range operations {
		if !upgrades(&op, instance) ||
			op.Status.Phase != opsv1alpha1.PhaseFailed && op.Status.Phase != opsv1alpha1.PhaseCancelled {
			continue
		}
		later := slices.IndexFunc(counts, func(other opsv1alpha1.Operation) bool {
			return op.Status.StartedAt.Before(other.Status.StartedAt)
		})
		if later < 0 {
			later = len(counts)
		}
		all = append(all, overlay(instance, append(slices.Clone(counts[:later]), op)))
	}
	return all
}

// overlay returns the version and values of Upgrades, in the order of their start.
func overlay(instance *appsv1alpha1.ApplicationInstance, upgrades []opsv1alpha1.Operation) Overlay {
	var made Overlay
	if instance.Spec.Chart == nil {
		return made
	}
	made.Version = instance.Spec.Chart.Version
	for _, op := range upgrades {
		params, err := engine.UpgradeOf(&op)
		if err != nil {
			continue // the checks have refused it
		}
		made.Version = cmp.Or(params.TargetVersion, made.Version)
		if len(params.ValuesPatch) > 0 {
			made.Values = MergeValues(made.Values, params.ValuesPatch)
		}
	}
	return made
}

// effective returns the instance's Upgrades that count, in the order of their start.
func effective(instance *appsv1alpha1.ApplicationInstance, operations []opsv1alpha1.Operation) []opsv1alpha1.Operation {
	list := slices.DeleteFunc(slices.Clone(operations), func(op opsv1alpha1.Operation) bool {
		return !upgrades(&op, instance) || !Underway(&op) && op.Status.Phase != opsv1alpha1.PhaseSucceeded
	})
	slices.SortFunc(list, func(a, b opsv1alpha1.Operation) int {
		return cmp.Or(a.Status.StartedAt.Compare(b.Status.StartedAt.Time), compare(&a, &b))
	})
	return list
}

// upgrades reports whether an operation is an Upgrade of the instance's present spec that has started.
func upgrades(op *opsv1alpha1.Operation, instance *appsv1alpha1.ApplicationInstance) bool {
	return op.Namespace == instance.Namespace && op.Spec.TargetRef.Name == instance.Name &&
		op.Spec.Engine == opsv1alpha1.EngineHelm && op.Status.StartedAt != nil &&
		op.Status.TargetGeneration == instance.Generation
}

// MergeValues returns values with a patch merged into them recursively. It changes neither.
func MergeValues(values, patch map[string]any) map[string]any {
	merged := maps.Clone(values)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, value := range patch {
		inner, isMap := value.(map[string]any)
		below, wasMap := merged[name].(map[string]any)
		if isMap && wasMap {
			value = MergeValues(below, inner)
		}
		merged[name] = value
	}
	return merged
}

// superseded returns the end of an Upgrade that can no longer succeed, or nil.
func (d *decision) superseded() *ending {
	if d.Target == nil || d.Target.DeletionTimestamp != nil || d.Target.Spec.Chart == nil {
		return &ending{opsv1alpha1.PhaseFailed, opsv1alpha1.FailedPrecondition, "the target was deleted before the upgrade ended"}
	}
	if d.Target.Generation != d.op.Status.TargetGeneration {
		return &ending{opsv1alpha1.PhaseCancelled, opsv1alpha1.CancelledSuperseded, fmt.Sprintf(
			"the spec of %s was changed while the upgrade ran, and takes precedence", d.Target.Name)}
	}
	return nil
}

// held returns why an Upgrade must not be deleted now, or an empty text: the release would return to what the instance
// declares, which is often a version that can't read the data any more.
func (d *decision) held() string {
	if d.op.Spec.Engine != opsv1alpha1.EngineHelm || d.op.Status.Phase != opsv1alpha1.PhaseSucceeded {
		return ""
	}
	if d.Target == nil || d.Target.DeletionTimestamp != nil || d.Target.Spec.Chart == nil {
		return ""
	}
	others := slices.DeleteFunc(slices.Clone(d.Others), func(op opsv1alpha1.Operation) bool { return op.UID == d.op.UID })
	without := OverlayOf(d.Target, others)
	with := OverlayOf(d.Target, append(others, *d.op))
	switch {
	case with.Version != without.Version:
		return fmt.Sprintf("%s has the version %s from this operation: set its spec.chart.version to complete the deletion", d.Target.Name, with.Version)
	case !reflect.DeepEqual(with.Values, without.Values):
		return d.Target.Name + " has values from this operation: set its spec.values to complete the deletion"
	}
	return ""
}
