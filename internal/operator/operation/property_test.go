package operation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/core/approval/approvaltest"
	"tend.dev/tend/internal/operator/identity"
)

// candidates are operations that exclude each other in every possible way, and one that excludes none.
var candidates = []struct {
	kind       opsv1alpha1.OperationType
	engine     opsv1alpha1.Engine
	parameters string
}{
	{opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, ""},
	{opsv1alpha1.TypeRestore, opsv1alpha1.EngineVelero, `{"backupName":"b"}`},
	{opsv1alpha1.TypeUpgrade, opsv1alpha1.EngineHelm, `{"targetVersion":"2.0.0"}`},
	{opsv1alpha1.TypeUpgrade, opsv1alpha1.EngineHelm, `{"valuesPatch":{"replicas":3}}`},
	{opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1"}`},
}

// TestOperationsEndWhateverEndsInBetween runs conflicting operations in any order of reconciles, with crashes between
// any two steps, cancellations, deletions, and engines that succeed or fail.
func TestOperationsEndWhateverEndsInBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.flux(true)
		n := rapid.IntRange(1, 6).Draw(t, "operations")
		for i := range n {
			c := candidates[rapid.IntRange(0, len(candidates)-1).Draw(t, "candidate")]
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "later")) * time.Second) // two may be created at the same time
			op := w.operation(fmt.Sprintf("op-%d", i), c.kind, c.engine, c.parameters)
			if rapid.Bool().Draw(t, "approved") {
				w.approve(t, op)
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(w.ops) == 0 {
				break
			}
			w.random(t)
		}
		w.settle(t)
		if len(w.conflicts) > 0 {
			t.Fatalf("%v", w.conflicts)
		}
		for key, times := range w.created {
			if times > 1 {
				t.Fatalf("%s was created %d times", key, times)
			}
		}
	})
}

func (w *world) approve(t interface{ Fatalf(string, ...any) }, op *opsv1alpha1.Operation) {
	claim, err := approvaltest.Sign(approval.Claim{Operation: op.Name, Expires: w.now.Add(24 * time.Hour).Unix()}, secret)
	if err != nil {
		t.Fatalf("%v", err)
	}
	op.Spec.Approvals = &opsv1alpha1.Approvals{Claim: claim}
	op.Generation++
}

// random does one thing that may happen at any time.
func (w *world) random(t *rapid.T) {
	w.now = w.now.Add(time.Second)
	op := w.ops[rapid.IntRange(0, len(w.ops)-1).Draw(t, "which")]
	before := op.Status
	switch rapid.IntRange(0, 8).Draw(t, "event") {
	case 0:
		w.finish(op, rapid.Bool().Draw(t, "succeeds"))
	case 1:
		w.flux(rapid.Bool().Draw(t, "ready"))
	case 2:
		op.Annotations[identity.AnnotationCancel] = "yes"
	case 3:
		now := metav1.NewTime(w.now)
		if op.DeletionTimestamp == nil && len(op.Finalizers) > 0 {
			op.DeletionTimestamp = &now
		}
	default:
		w.reconcile(op, rapid.IntRange(0, 4).Draw(t, "steps until the crash"))
	}
	if before.Phase.Terminal() && op.Status.Phase != before.Phase {
		t.Fatalf("%s was %s and is %s", op.Name, before.Phase, op.Status.Phase)
	}
	if before.StartedAt != nil && !before.StartedAt.Equal(op.Status.StartedAt) ||
		before.FinishedAt != nil && !before.FinishedAt.Equal(op.Status.FinishedAt) {
		t.Fatalf("%s was started or finished twice: %v, then %v", op.Name, before, op.Status)
	}
}

// finish makes an engine end its object.
func (w *world) finish(op *opsv1alpha1.Operation, succeeds bool) {
	object := w.object(op)
	if object == nil || op.Spec.Engine == opsv1alpha1.EngineHelm || object.Object["status"] != nil {
		return
	}
	phase, condition := "Failed", "Failed"
	if succeeds {
		phase, condition = "Completed", "Complete"
	}
	object.Object["status"] = map[string]any{
		"phase": phase, "conditions": []any{map[string]any{"type": condition, "status": "True"}},
	}
}

// settle lets everything happen that is due: approvals come, engines end, and operations are reconciled until nothing
// changes. All of them must end within as many rounds as there are operations, plus a few.
func (w *world) settle(t *rapid.T) {
	for _, op := range w.ops {
		if op.Spec.Approvals == nil && !started(op) && op.DeletionTimestamp == nil {
			w.approve(t, op)
		}
	}
	for range 6*len(w.ops) + 6 {
		for _, op := range slices.Clone(w.ops) {
			w.reconcile(op, 5)
			w.finish(op, true)
		}
		w.flux(true)
		for _, op := range w.ops { // an effective Upgrade can be deleted once the instance's spec changes
			if op.DeletionTimestamp != nil && op.Status.Phase == opsv1alpha1.PhaseSucceeded {
				w.target.Generation++
			}
		}
	}
	for _, op := range w.ops {
		if op.DeletionTimestamp != nil {
			t.Fatalf("%s is being deleted for ever: %+v", op.Name, op.Status)
		}
		if !op.Status.Phase.Terminal() {
			t.Fatalf("%s %s waits for ever: %+v", op.Spec.Type, op.Name, op.Status)
		}
		before := op.DeepCopy()
		w.now = w.now.Add(time.Hour)
		if plan := w.reconcile(op, 5); plan.Apply != nil || plan.Delete != nil || len(plan.Events) > 0 ||
			!sameStatus(before, op) {
			t.Fatalf("%s has ended, and its reconcile writes: %s\nbefore %+v\nafter  %+v", op.Name, plan, before.Status, op.Status)
		}
	}
}
