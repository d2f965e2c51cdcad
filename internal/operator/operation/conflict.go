package operation

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// Conflicts reports whether an operation may not start while another one on the same target is in flight. It is not
// symmetric: a restore waits for an upgrade, but an upgrade doesn't wait for a restore.
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

// firstConflict returns the operation that op must wait for, or nil: the first that is running, or that precedes op and
// only waits for its turn.
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

// before orders operations by their creation, then by UID.
func before(a, b *opsv1alpha1.Operation) bool { return compare(a, b) < 0 }

func compare(a, b *opsv1alpha1.Operation) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}

// working reports whether an operation's engine is working. A scheduled replication isn't between two times.
func working(op *opsv1alpha1.Operation) bool {
	if !Underway(op) {
		return false
	}
	running := meta.FindStatusCondition(op.Status.Conditions, opsv1alpha1.ConditionRunning)
	return running == nil || running.Reason != opsv1alpha1.RunningVolSyncIdle
}

// waiting reports whether an operation that has not started only waits for its turn or for the maintenance window. One
// that needs a person, such as for an approval, may wait long, so the others go first.
func waiting(op *opsv1alpha1.Operation) bool {
	if started(op) || op.DeletionTimestamp != nil || identity.Cancels(op.Annotations) {
		return false
	}
	blocked := meta.FindStatusCondition(op.Status.Conditions, opsv1alpha1.ConditionBlocked)
	return blocked == nil || blocked.Reason == opsv1alpha1.BlockedConflictingOperation ||
		blocked.Reason == opsv1alpha1.BlockedOutsideMaintenance || // all operations on the target share its window
		op.Status.ObservedGeneration < op.Generation
}

// MayWait reports whether an operation has that target and has not started: a change of the target, or of its other
// operations, may let it start.
func MayWait(op *opsv1alpha1.Operation, target string) bool {
	return op.Spec.TargetRef.Name == target && !started(op)
}
