package operation

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// Conflicts returns whether an operation may not start while another one, of the same target, is in flight. It is not
// symmetric: a restore waits for an upgrade, and an upgrade does not wait for a restore.
func Conflicts(incoming, existing opsv1alpha1.OperationType) bool {
	switch incoming {
	case opsv1alpha1.TypeUpgrade:
		return existing == opsv1alpha1.TypeUpgrade
	case opsv1alpha1.TypeRestore:
		return existing == opsv1alpha1.TypeUpgrade || existing == opsv1alpha1.TypeBackup
	case opsv1alpha1.TypeBackup:
		return existing == opsv1alpha1.TypeRestore
	}
	return false
}

// firstConflict returns the operation that another one must wait for, or nil: the first that runs, or that comes before
// it and is only waiting for its turn.
func firstConflict(op *opsv1alpha1.Operation, others []opsv1alpha1.Operation) *opsv1alpha1.Operation {
	var found *opsv1alpha1.Operation
	for i := range others {
		other := &others[i]
		if other.UID == op.UID || other.Namespace != op.Namespace || other.Spec.TargetRef.Name != op.Spec.TargetRef.Name {
			continue
		}
		if !Conflicts(op.Spec.Type, other.Spec.Type) || !working(other) && !(waiting(other) && before(other, op)) {
			continue
		}
		if found == nil || before(other, found) {
			found = other
		}
	}
	return found
}

// before is the order of operations: by their creation, then by UID.
func before(a, b *opsv1alpha1.Operation) bool { return compare(a, b) < 0 }

func compare(a, b *opsv1alpha1.Operation) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}

// working returns whether an operation's engine is at work. A replication on a schedule isn't between two times.
func working(op *opsv1alpha1.Operation) bool {
	if !Underway(op) {
		return false
	}
	running := meta.FindStatusCondition(op.Status.Conditions, opsv1alpha1.ConditionRunning)
	return running == nil || running.Reason != opsv1alpha1.RunningVolSyncIdle
}

// waiting returns whether an operation that has not started waits for nothing but its turn, or for the
// maintenance window. One that needs a person, such as for its approval, may need one for long: the others go first.
func waiting(op *opsv1alpha1.Operation) bool {
	if started(op) || op.DeletionTimestamp != nil || cancelled(op) {
		return false
	}
	blocked := meta.FindStatusCondition(op.Status.Conditions, opsv1alpha1.ConditionBlocked)
	return blocked == nil || blocked.Reason == opsv1alpha1.BlockedConflictingOperation ||
		blocked.Reason == opsv1alpha1.BlockedOutsideMaintenance || // the window of the target is that of them all
		op.Status.ObservedGeneration < op.Generation
}

// MayWait returns whether an operation has that target and has not started: what happens to the target, or to its other
// operations, may let it start.
func MayWait(op *opsv1alpha1.Operation, target string) bool {
	return op.Spec.TargetRef.Name == target && !started(op)
}
