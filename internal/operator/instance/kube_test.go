//go:build kube

package instance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m, kubetest.Tend, kubetest.Flux)) }

// TestLifeOfAnInstance: an instance becomes a source and a release, which Flux installs; an upgrade fails and then works.
func TestLifeOfAnInstance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.exists(helmRelease, "web")
	w.says("Ready=Unknown/Reconciling", "Reconciling=True/HelmReleaseInstalling", "Blocked=False/Unblocked")
	w.installs("Ready=True/InstallSucceeded", "Released=True/InstallSucceeded")
	w.says("Ready=True/HelmReleaseReady", "Reconciling=False/Stable", "Degraded=False/Recovered", "Suspended=False/Active")
	w.children()

	instance, err := w.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if instance.Status.ObservedGeneration != instance.Generation || instance.Status.HelmReleaseRef.Name != "web" || instance.Status.LastAppliedChart.Version != "1.2.3" {
		t.Errorf("status: %+v", instance.Status)
	}
	instance.Spec.Chart.Version = "1.3.0"
	if err := w.user.Update(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	w.says("Ready=Unknown/Reconciling") // Flux still says Ready=True, of the release before
	w.installs("Released=False/UpgradeFailed", "Ready=False/UpgradeFailed", "Stalled=True/RetriesExceeded")
	w.says("Ready=False/HelmReleaseFailed", "Degraded=True/HelmReleaseFailed")
	w.installs("Ready=True/UpgradeSucceeded", "Released=True/UpgradeSucceeded")
	w.says("Ready=True/HelmReleaseReady", "Degraded=False/Recovered")
	w.events("Normal HelmReleaseReady", "Warning HelmReleaseFailed", "Normal Recovered")
}

// children checks who owns the children and who wrote them.
func (w *world) children() {
	w.Helper()
	instance, err := w.instance(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	release, err := w.get(w.Context(), helmRelease, "web")
	if err != nil {
		w.Fatal(err)
	}
	source, err := w.get(w.Context(), ociRepository, "web-source")
	if err != nil {
		w.Fatal(err)
	}
	for _, child := range []*unstructured.Unstructured{release, source} {
		if o := metav1.GetControllerOf(child); o == nil || o.UID != instance.UID {
			w.Errorf("%s is controlled by %v", child.GetKind(), o)
		}
		for label, want := range identity.Labels("berlin", "web") {
			if got := child.GetLabels()[label]; got != want {
				w.Errorf("%s has the label %s=%s, want %s", child.GetKind(), label, got, want)
			}
		}
	}
	for _, live := range []metav1.Object{release, source, instance} {
		for _, entry := range live.GetManagedFields() {
			if live == metav1.Object(instance) && entry.Manager == identity.FieldManager && entry.Subresource == "" {
				continue // the finalizer: a patch, because the control plane's spec has the same manager
			}
			if entry.Manager != "user" && entry.Manager != "helm-controller" && (entry.Manager != identity.FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply) {
				w.Errorf("%s was written by %s %s, want %s Apply", live.GetName(), entry.Manager, entry.Operation, identity.FieldManager)
			}
		}
	}
}

// events waits until the instance has Events of a type and a reason.
func (w *world) events(wanted ...string) {
	w.Helper()
	kubetest.Eventually(w, "events", func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := w.user.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		var have []string
		for _, e := range list.Items {
			have = append(have, e.Type+" "+e.Reason)
		}
		for _, want := range wanted {
			if !slices.Contains(have, want) {
				return fmt.Errorf("no event %q among %q", want, have)
			}
		}
		return nil
	})
}

// TestForeignFieldSurvives: what another manager sets beside the operator's fields stays, also through an upgrade.
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
	if err := w.user.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(foreign), client.FieldOwner("kubectl")); err != nil {
		t.Fatal(err)
	}
	instance, err := w.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	instance.Spec.Values.Inline.Raw = []byte(`{"replicas":3}`)
	if err := w.user.Update(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
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

// TestConflictIsReported: a field that another manager owns is named, and stays; when the other gives it up, the operator
// continues by itself.
func TestConflictIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	foreign := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"interval": "77m", "chartRef": map[string]any{"kind": "OCIRepository", "name": "other"},
	}}}
	foreign.SetGroupVersionKind(helmRelease)
	foreign.SetNamespace(w.namespace)
	foreign.SetName("web")
	if err := w.user.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(foreign), client.FieldOwner("kubectl")); err != nil {
		t.Fatal(err)
	}
	w.operate()
	w.web()
	w.says("Blocked=True/FieldConflict", "Ready=False/HelmReleaseFailed")
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
	if interval, _, _ := unstructured.NestedString(release.Object, "spec", "interval"); interval != "77m" || len(release.GetOwnerReferences()) > 0 {
		t.Errorf("the foreign object was changed: %v", release.Object)
	}
	if err := w.user.Delete(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	w.says("Blocked=False/Unblocked", "Ready=Unknown/Reconciling")
	w.children()
}

// TestDriftIsLeftAlone: a change of an operator's field by a person is reported, and nothing fights over it.
func TestDriftIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.installs("Ready=True/InstallSucceeded")
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
	w.installs("Ready=True/UpgradeSucceeded")
	w.says("Degraded=True/Drifted", "Ready=True/HelmReleaseReady")
	release, err := w.get(t.Context(), helmRelease, "web")
	if err != nil {
		t.Fatal(err)
	}
	if interval, _, _ := unstructured.NestedString(release.Object, "spec", "interval"); interval != "1h" {
		t.Errorf("spec.interval is %q: the operator has taken it back", interval)
	}
}

// TestDeletionWaitsForChildren: an instance stays until Flux has uninstalled the release.
func TestDeletionWaitsForChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.exists(helmRelease, "web")
	hold := func(finalizers ...string) {
		kubetest.Eventually(t, "finalizer of Flux", func(ctx context.Context) error {
			release, err := w.get(ctx, helmRelease, "web")
			if err != nil {
				return err
			}
			release.SetFinalizers(finalizers)
			return w.flux.Update(ctx, release)
		})
	}
	hold("finalizers.fluxcd.io")
	instance, err := w.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.user.Delete(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	w.says("Deleting=True/WaitingForChildResources")
	if _, err := w.get(t.Context(), ociRepository, "web-source"); err != nil {
		t.Errorf("the source is gone before the release: %v", err)
	}
	hold()
	kubetest.Eventually(t, "end", func(ctx context.Context) error {
		if _, err := w.instance(ctx); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the instance is still there: %v", err)
		}
		return nil
	})
	if _, err := w.get(t.Context(), ociRepository, "web-source"); !apierrors.IsNotFound(err) {
		t.Errorf("the source outlives the instance: %v", err)
	}
}

// TestPauseStopsWrites: while the annotation is there a change of the spec is not applied.
func TestPauseStopsWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.says("Suspended=False/Active")
	w.exists(helmRelease, "web")
	edit := func(annotation, version string) {
		kubetest.Eventually(t, "edit", func(ctx context.Context) error {
			instance, err := w.instance(ctx)
			if err != nil {
				return err
			}
			instance.Annotations = map[string]string{identity.AnnotationReconcile: annotation}
			instance.Spec.Chart.Version = version
			return w.user.Update(ctx, instance)
		})
	}
	tag := func(ctx context.Context) string {
		source, err := w.get(ctx, ociRepository, "web-source")
		if err != nil {
			t.Fatal(err)
		}
		tag, _, _ := unstructured.NestedString(source.Object, "spec", "ref", "tag")
		return tag
	}
	edit(identity.ReconcileDisabled, "2.0.0")
	w.says("Suspended=True/ReconcilePaused")
	if got := tag(t.Context()); got != "1.2.3" {
		t.Errorf("the tag is %s while paused", got)
	}
	edit("", "2.0.0")
	kubetest.Eventually(t, "upgrade", func(ctx context.Context) error {
		if got := tag(ctx); got != "2.0.0" {
			return errors.New("the tag is " + got)
		}
		return nil
	})
	w.says("Suspended=False/Active")
}

// TestUpgradeHoldsUntilTheSpecChanges: what an Operation installs is not undone, and a newer spec counts more.
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
	w.installs("Ready=True/UpgradeSucceeded")
	w.says("Ready=True/HelmReleaseReady", "Degraded=False/Recovered")
	installed("5.0.0", true)
	if instance, err = w.instance(t.Context()); err != nil {
		t.Fatal(err)
	}
	instance.Spec.Chart.Version = "6.0.0"
	if err := w.user.Update(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	installed("6.0.0", nil)
}

// TestKindsAppearLater: without Flux an instance says so, and goes on when Flux is installed, without a restart.
func TestKindsAppearLater(t *testing.T) {
	server, err := kubetest.Start(kubetest.Tend)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := newWorld(t, server)
	w.operate()
	w.web()
	w.says("Blocked=True/MissingDependencies", "Ready=False/HelmReleaseFailed")
	if err := server.Install(t.Context(), kubetest.Flux); err != nil {
		t.Fatal(err)
	}
	w.exists(helmRelease, "web")
	w.installs("Ready=True/InstallSucceeded")
	w.says("Blocked=False/Unblocked", "Ready=True/HelmReleaseReady")
}
