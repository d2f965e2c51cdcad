//go:build kube

package controller_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestAllowedTypes: an operation whose type the namespace's annotation doesn't list waits, with the cause, and starts
// once it is listed.
func TestAllowedTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	allow := func(types string) {
		namespace := &corev1.Namespace{}
		if err := w.user.Get(t.Context(), client.ObjectKey{Name: w.namespace}, namespace); err != nil {
			t.Fatal(err)
		}
		namespace.Annotations = map[string]string{identity.AnnotationAllowedTypes: types}
		if err := w.user.Update(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
	}
	allow("Backup")
	w.operate()
	w.create("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1"}`)
	op := w.reaches("run", opsv1alpha1.PhasePending, "Blocked", "PolicyDenied")
	if message := meta.FindStatusCondition(op.Status.Conditions, "Blocked").Message; !strings.Contains(message, `"Backup"`) {
		t.Errorf("%q doesn't say what is allowed", message)
	}
	if live, err := w.get(t.Context(), engine.KindJob, "run"); err == nil {
		t.Errorf("it has a Job: %v", live)
	}
	allow("Backup,RunCommand")
	w.begins("run")
	allow("Backup") // a started operation continues
	kubetest.Eventually(w, "the Job", func(ctx context.Context) error {
		_, err := w.get(ctx, engine.KindJob, "run")
		return err
	})
	w.play(engine.KindJob, "run", jobActive)
	w.reaches("run", opsv1alpha1.PhaseRunning, "Running", "JobPodActive")
}
