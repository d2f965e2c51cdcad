//go:build kube

package controller_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestConflictOfTheChildIsReported: another field manager creates an operation's Job, with another image, just before
// the operator does. The operation reports the field, the object and the manager, and leaves the Job alone.
func TestConflictOfTheChildIsReported(t *testing.T) {
	t.Parallel()
	w, calls := newWorld(t), 0
	op := w.create("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1"}`)
	reconciler := w.direct(func() error {
		if calls++; calls != 5 { // the calls are before and after the finalizer and the status, and before the Job
			return nil
		}
		taken := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "runner", "image": "other:1"}},
		}}}}}
		taken.SetGroupVersionKind(engine.KindJob)
		taken.SetNamespace(w.namespace)
		taken.SetName("run")
		return w.user.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(taken), client.FieldOwner("kubectl"))
	})
	if _, err := reconciler.Reconcile(t.Context(), w.request("run")); err != nil {
		t.Fatal(err)
	}
	op, err := w.operation(t.Context(), op.Name)
	if err != nil {
		t.Fatal(err)
	}
	blocked := meta.FindStatusCondition(op.Status.Conditions, "Blocked")
	if blocked == nil || blocked.Status != "True" || blocked.Reason != "FieldConflict" {
		t.Fatalf("conditions %+v", op.Status.Conditions)
	}
	for _, part := range []string{"Job " + w.namespace + "/run", "image", "kubectl"} {
		if !strings.Contains(blocked.Message, part) {
			t.Errorf("%q does not say %q", blocked.Message, part)
		}
	}
	live, err := w.get(t.Context(), engine.KindJob, "run")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == "vworkspace-operator" {
			t.Error("the operator has taken fields of the Job")
		}
	}
}

// TestOperationWaitsForItsSecrets: a Secret named in the parameters must exist before the start.
func TestOperationWaitsForItsSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reconciler := w.direct(kubetest.Survive)
	w.create("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob,
		`{"image":"busybox:1","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"late","key":"k"}}},{"name":"B","valueFrom":{"secretKeyRef":{"name":"never","key":"k","optional":true}}}]}`)
	result, err := reconciler.Reconcile(t.Context(), w.request("run"))
	if err != nil || result.RequeueAfter <= 0 {
		t.Fatalf("again after %s: %v", result.RequeueAfter, err)
	}
	op := w.reaches("run", opsv1alpha1.PhasePending, "Blocked", "MissingSecret")
	if c := meta.FindStatusCondition(op.Status.Conditions, "Blocked"); !strings.Contains(c.Message, "late") ||
		strings.Contains(c.Message, "never") {
		t.Errorf("the message is %q", c.Message)
	}
	w.secret("late")
	if _, err := reconciler.Reconcile(t.Context(), w.request("run")); err != nil {
		t.Fatal(err)
	}
	if op, err := w.operation(t.Context(), "run"); err != nil || op.Status.StartedAt == nil {
		t.Errorf("it has not started: %+v (%v)", op.Status, err)
	}
}
