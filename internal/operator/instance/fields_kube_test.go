//go:build kube

package instance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/kubetest"
)

// TestForeignFieldSurvives: fields that another manager adds to the operator's stay, also through an upgrade.
func TestForeignFieldSurvives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.exists(helmRelease, "web")
	foreign := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"timeout": "17m"}}}
	foreign.SetGroupVersionKind(helmRelease)
	foreign.SetNamespace(w.namespace)
	foreign.SetName("web")
	if err := w.user.Apply(
		t.Context(), client.ApplyConfigurationFromUnstructured(foreign), client.FieldOwner("kubectl"),
	); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "an update", func(ctx context.Context) error { // retries if the operator wrote meanwhile
		instance, err := w.instance(ctx)
		if err != nil {
			return err
		}
		instance.Spec.Values.Inline.Raw = []byte(`{"replicas":3}`)
		return w.user.Update(ctx, instance)
	})
	kubetest.Eventually(t, "new values", func(ctx context.Context) error {
		release, err := w.get(ctx, helmRelease, "web")
		if err != nil {
			return err
		}
		values, _, _ := unstructured.NestedMap(release.Object, "spec", "values")
		if timeout, _, _ := unstructured.NestedString(release.Object, "spec", "timeout"); timeout != "17m" {
			t.Fatalf("spec.timeout is %q: the foreign field is gone", timeout)
		}
		if len(values) != 1 || values["replicas"] != int64(3) {
			return fmt.Errorf("values are %v", values)
		}
		return nil
	})
	w.says("Blocked=False/Unblocked", "Degraded=False/Recovered")
}

// TestConflictIsReported: a field that another manager owns is reported and left alone. When that manager gives it up,
// the operator continues by itself.
func TestConflictIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	foreign := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"interval": "77m", "chartRef": map[string]any{"kind": "OCIRepository", "name": "other"},
	}}}
	foreign.SetGroupVersionKind(helmRelease)
	foreign.SetNamespace(w.namespace)
	foreign.SetName("web")
	if err := w.user.Apply(
		t.Context(), client.ApplyConfigurationFromUnstructured(foreign), client.FieldOwner("kubectl"),
	); err != nil {
		t.Fatal(err)
	}
	w.operate()
	w.web()
	w.says("Blocked=True/FieldConflict", "Ready=False/FieldConflict")
	instance, err := w.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range instance.Status.Conditions {
		if c.Type == "Blocked" && (!strings.Contains(c.Message, ".spec.interval of HelmRelease web is set by kubectl") || !strings.Contains(c.Message, ".spec.chartRef.name")) {
			t.Errorf("Blocked says %q", c.Message)
		}
	}
	release, err := w.get(t.Context(), helmRelease, "web")
	if err != nil {
		t.Fatal(err)
	}
	if interval, _, _ := unstructured.NestedString(release.Object, "spec", "interval"); interval != "77m" ||
		len(release.GetOwnerReferences()) > 0 {
		t.Errorf("the foreign object was changed: %v", release.Object)
	}
	if err := w.user.Delete(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	w.says("Blocked=False/Unblocked", "Ready=Unknown/Reconciling")
	w.children()
}

// TestDriftIsLeftAlone: a person's change of an operator's field is reported, and not undone.
func TestDriftIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.installs("Ready=True/InstallSucceeded", "Released=True/InstallSucceeded")
	w.says("Ready=True/HelmReleaseReady")
	kubetest.Eventually(t, "edit", func(ctx context.Context) error {
		release, err := w.get(ctx, helmRelease, "web")
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(release.Object, "1h", "spec", "interval"); err != nil {
			t.Fatal(err)
		}
		return w.user.Update(ctx, release)
	})
	w.installs("Ready=True/UpgradeSucceeded", "Released=True/UpgradeSucceeded")
	w.says("Degraded=True/Drifted", "Ready=True/HelmReleaseReady")
	release, err := w.get(t.Context(), helmRelease, "web")
	if err != nil {
		t.Fatal(err)
	}
	if interval, _, _ := unstructured.NestedString(release.Object, "spec", "interval"); interval != "1h" {
		t.Errorf("spec.interval is %q: the operator has taken it back", interval)
	}
}
