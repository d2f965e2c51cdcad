//go:build kube

package instance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m, kubetest.Tend, kubetest.Flux)) }

// TestLifeOfAnInstance: an instance becomes a source and a release, which Flux installs. One upgrade fails, the next
// succeeds.
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
	if instance.Status.ObservedGeneration != instance.Generation || instance.Status.HelmReleaseRef.Name != "web" ||
		instance.Status.LastAppliedChart.Version != "1.2.3" {
		t.Errorf("status: %+v", instance.Status)
	}
	instance.Spec.Chart.Version = "1.3.0"
	if err := w.user.Update(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	w.says("Ready=Unknown/Reconciling") // Flux still reports Ready=True for the release before
	w.installs("Ready=False/RollbackSucceeded", "Released=False/UpgradeFailed", "Remediated=True/RollbackSucceeded", "Stalled=True/RetriesExceeded")
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
				continue // the finalizer is patched, because the control plane's spec has the same manager
			}
			if entry.Manager != "user" && entry.Manager != "helm-controller" &&
				(entry.Manager != identity.FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply) {
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

// TestPauseStopsWrites: while the annotation exists, a change of the spec is not applied.
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

// TestKindsAppearLater: without Flux an instance reports that. It continues once Flux is installed, without a restart.
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
	w.says("Blocked=True/MissingDependencies", "Ready=False/MissingDependencies")
	if err := server.Install(t.Context(), kubetest.Flux); err != nil {
		t.Fatal(err)
	}
	w.exists(helmRelease, "web")
	w.installs("Ready=True/InstallSucceeded", "Released=True/InstallSucceeded")
	w.says("Blocked=False/Unblocked", "Ready=True/HelmReleaseReady")
}
