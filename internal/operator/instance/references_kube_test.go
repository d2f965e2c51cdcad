//go:build kube

package instance_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestAChangeOfValuesReachesFlux: when a ConfigMap without Flux's label changes that an instance takes values from,
// Flux is asked to reconcile the release, and the source is left alone.
func TestAChangeOfValuesReachesFlux(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	values := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web-values"}}
	if err := w.user.Create(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	w.web()
	w.change(func(instance *appsv1alpha1.ApplicationInstance) {
		instance.Spec.ValuesFrom = []appsv1alpha1.ValuesReference{{Kind: "ConfigMap", Name: "web-values"}}
	})
	kubetest.Eventually(t, "valuesFrom of the release", func(ctx context.Context) error {
		release, err := w.get(ctx, helmRelease, "web")
		if err != nil {
			return err
		}
		if from, found, _ := unstructured.NestedSlice(release.Object, "spec", "valuesFrom"); !found {
			return fmt.Errorf("it has %v", from)
		}
		return nil
	})
	w.installs("Ready=True/InstallSucceeded", "Released=True/InstallSucceeded")
	w.says("Ready=True/HelmReleaseReady")
	asked := func(ctx context.Context) (bool, error) {
		release, err := w.get(ctx, helmRelease, "web")
		return err == nil && release.GetAnnotations()[identity.AnnotationRequestedAt] != "", nil
	}
	if is, _ := asked(t.Context()); is {
		t.Fatal("Flux is asked although nothing has changed")
	}
	const changes = 4 // the first ones may come before the ConfigMap is looked at for the first time
	for i := range changes {
		values.Data = map[string]string{"values.yaml": fmt.Sprintf("replicas: %d", i)}
		if err := w.user.Update(t.Context(), values); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, asked)
		if err == nil {
			break
		}
		if i == changes-1 {
			t.Fatal("Flux is never asked")
		}
	}
	source, err := w.get(t.Context(), ociRepository, "web-source")
	if err != nil {
		t.Fatal(err)
	}
	if at, is := source.GetAnnotations()[identity.AnnotationRequestedAt]; is {
		t.Errorf("the source was asked at %s", at)
	}
}
