package operation

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// TestAnEndedOperationOfALaterGeneration: an operation that was cancelled in its cluster while its approval was on the
// way has ended for the generation with the approval, too. Tend waits for the conditions of that generation.
func TestAnEndedOperationOfALaterGeneration(t *testing.T) {
	w := newWorld()
	op := w.operation("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1"}`)
	op.Spec.Approvals = &opsv1alpha1.Approvals{Required: true}
	w.reconcile(op, 9)
	op.Annotations[identity.AnnotationCancel] = "yes"
	w.reconcile(op, 9)
	ended := op.Status.DeepCopy()
	if ended.Phase != opsv1alpha1.PhaseCancelled {
		t.Fatalf("the operation is %s", ended.Phase)
	}
	w.approve(t, op)
	if plan := w.reconcile(op, 9); len(plan.Events) > 0 || plan.Apply != nil {
		t.Errorf("an approval of an operation that has ended does something: %+v", plan)
	}
	for _, c := range op.Status.Conditions {
		was := meta.FindStatusCondition(ended.Conditions, c.Type)
		if c.ObservedGeneration != op.Generation || was == nil || c.Status != was.Status || c.Reason != was.Reason {
			t.Errorf("%+v, want that of the end, of generation %d", c, op.Generation)
		}
	}
}
