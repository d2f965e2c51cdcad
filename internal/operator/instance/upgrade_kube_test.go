//go:build kube

package instance_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestUpgradeHoldsUntilTheSpecChanges: an Operation's upgrade isn't undone, until a newer spec overrides it.
func TestUpgradeHoldsUntilTheSpecChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.exists(helmRelease, "web")
	instance, err := w.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	operation := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":"ops.vworkspace.io/v1alpha1","kind":"Operation","metadata":{"namespace":%q,"name":"up"},"spec":{
		"targetRef":{"apiVersion":"apps.vworkspace.io/v1alpha1","kind":"ApplicationInstance","name":"web"},"type":"Upgrade","engine":"helm",
		"parameters":{"targetVersion":"5.0.0","valuesPatch":{"extra":true}}}}`, w.namespace)
	if err := operation.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.user.Create(t.Context(), operation); err != nil {
		t.Fatal(err)
	}
	operation.Object["status"] = map[string]any{
		"phase": "Running", "targetGeneration": instance.Generation, "startedAt": metav1.Now().UTC().Format(time.RFC3339),
	}
	if err := w.user.Status().Update(t.Context(), operation); err != nil {
		t.Fatal(err)
	}
	installed := func(version string, extra any) {
		t.Helper()
		kubetest.Eventually(t, "version", func(ctx context.Context) error {
			source, err := w.get(ctx, ociRepository, "web-source")
			if err != nil {
				return err
			}
			release, err := w.get(ctx, helmRelease, "web")
			if err != nil {
				return err
			}
			tag, _, _ := unstructured.NestedString(source.Object, "spec", "ref", "tag")
			values, _, _ := unstructured.NestedMap(release.Object, "spec", "values")
			if tag != version || values["extra"] != extra || values["replicas"] != int64(2) {
				return fmt.Errorf("tag %s, values %v", tag, values)
			}
			return nil
		})
	}
	installed("5.0.0", true)
	if err := unstructured.SetNestedField(operation.Object, string(opsv1alpha1.PhaseSucceeded), "status", "phase"); err != nil {
		t.Fatal(err)
	}
	if err := w.user.Status().Update(t.Context(), operation); err != nil {
		t.Fatal(err)
	}
	w.installs("Ready=True/UpgradeSucceeded", "Released=True/UpgradeSucceeded")
	w.says("Ready=True/HelmReleaseReady", "Degraded=False/Recovered")
	installed("5.0.0", true)
	if instance, err = w.instance(t.Context()); err != nil {
		t.Fatal(err)
	}
	if applied := instance.Status.LastAppliedChart; applied == nil || applied.Version != "5.0.0" {
		t.Errorf("the status names the chart %+v, 5.0.0 is installed", applied)
	}
	instance.Spec.Chart.Version = "6.0.0"
	if err := w.user.Update(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	installed("6.0.0", nil)
}
