//go:build flux

package fluxtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/kubetest"
)

const ready = "Ready=True/HelmReleaseReady"

// sources are the types of chart sources. Each story runs with both.
var sources = []string{"oci", "helm"}

// each runs a story with each type of source.
func each(t *testing.T, story func(*world)) {
	for _, source := range sources {
		t.Run(source, func(t *testing.T) { story(newWorld(t, source)) })
	}
}

// TestLife: an application is installed, upgraded, downgraded and uninstalled. It is only ready while the running
// version is the declared one.
func TestLife(t *testing.T) {
	each(t, func(w *world) {
		w.push("1.0.0", false)
		w.push("1.1.0", false)
		w.install("1.0.0")
		w.says(ready, "Degraded=False/Recovered", "Reconciling=False/Stable")
		w.runs("1.0.0")
		w.step("install")
		w.upgrade("1.1.0")
		w.says(ready, "Degraded=False/Recovered", "Reconciling=False/Stable")
		w.runs("1.1.0")
		w.step("upgrade")
		w.upgrade("1.0.0")
		w.says(ready)
		w.runs("1.0.0")
		w.step("downgrade")
		w.delete(w.named(instanceKind(), "web"))
		w.gone(w.named(instanceKind(), "web"))
		for _, kind := range []string{"web-config"} {
			w.gone(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: kind}})
		}
		w.gone(w.named(helmRelease, "web"))
		w.gone(w.named(ociRepository, "web-source"))
		w.gone(w.named(helmRepository, "web-source"))
	})
}

// TestUpgradeFails: an upgrade that the API server refuses is rolled back and reported. The next declared version is
// installed.
func TestUpgradeFails(t *testing.T) {
	each(t, func(w *world) {
		w.push("1.0.0", false)
		w.push("1.1.0", true)
		w.push("1.2.0", false)
		w.install("1.0.0")
		w.says(ready)
		w.upgrade("1.1.0")
		w.rolledBack()
		if message := w.says("Degraded=True/HelmReleaseFailed"); !strings.Contains(message, "web-zz") {
			w.Errorf("the message does not name the object that was refused: %s", message)
		}
		w.step("upgrade fails")
		w.upgrade("1.2.0")
		w.says(ready, "Degraded=False/Recovered")
		w.runs("1.2.0")
		w.step("upgrade after a failure")
	})
}

// rolledBack waits until Flux has given up the upgrade and the previous version runs.
func (w *world) rolledBack() {
	w.Helper()
	kubetest.Within(w, patience, "the rollback", func(ctx context.Context) error {
		live := w.named(helmRelease, "web")
		if err := w.user.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		for _, c := range kubetest.SaidOf(live).Conditions {
			if c.Type == "Stalled" && c.Status == "True" {
				return nil
			}
		}
		return fmt.Errorf("Flux says %+v", kubetest.SaidOf(live))
	})
	w.runs("1.0.0")
}

// TestInstallFails: a first version that the API server refuses is reported. The next declared version is installed.
func TestInstallFails(t *testing.T) {
	each(t, func(w *world) {
		w.push("1.0.0", true)
		w.push("1.0.1", false)
		w.install("1.0.0")
		w.says("Ready=False/HelmReleaseFailed", "Degraded=True/HelmReleaseFailed")
		w.step("install fails")
		w.upgrade("1.0.1")
		w.says(ready, "Degraded=False/Recovered")
		w.runs("1.0.1")
		w.step("install after a failure")
	})
}

// TestChartIsMissing: a version missing in the repository is reported as such, and installed once it is there.
func TestChartIsMissing(t *testing.T) {
	each(t, func(w *world) {
		w.push("1.0.0", false)
		w.install("2.0.0")
		if message := w.says("Degraded=True/ChartUnreachable", "Ready=False/ChartUnreachable"); !strings.Contains(message, "2.0.0") {
			w.Errorf("the message does not name the version that is missing: %s", message)
		}
		w.step("chart is missing")
		w.push("2.0.0", false)
		w.index()
		w.says(ready, "Degraded=False/Recovered")
		w.runs("2.0.0")
		w.step("chart appears")
	})
}

// index makes Flux read the index of a Helm repository now instead of at its interval.
func (w *world) index() {
	w.Helper()
	if w.source == "helm" {
		w.now(helmRepository)
	}
}

// now asks Flux to reconcile a source at once.
func (w *world) now(kind schema.GroupVersionKind) {
	w.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, metav1.Now().String())
	name := "web-source"
	if kind == helmRelease {
		name = "web"
	}
	if err := w.user.Patch(w.Context(), w.named(kind, name), client.RawPatch(types.MergePatchType, patch)); err != nil {
		w.Fatal(err)
	}
}

// TestDriftOfFlux: a HelmRelease that a person deletes is created again, and so is a release that a person uninstalls.
func TestDriftOfFlux(t *testing.T) {
	each(t, func(w *world) {
		w.push("1.0.0", false)
		w.install("1.0.0")
		w.says(ready)
		before := w.named(helmRelease, "web")
		if err := w.user.Get(w.Context(), client.ObjectKeyFromObject(before), before); err != nil {
			w.Fatal(err)
		}
		w.delete(w.named(helmRelease, "web"))
		kubetest.Within(w, patience, "another HelmRelease", func(ctx context.Context) error {
			live := w.named(helmRelease, "web")
			if err := w.user.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
				return err
			}
			if live.GetUID() == before.GetUID() {
				return fmt.Errorf("it is the same one: %v", live.GetDeletionTimestamp())
			}
			return nil
		})
		w.says(ready)
		w.runs("1.0.0")
		w.step("HelmRelease deleted by hand")
		w.uninstallByHand()
		w.now(helmRelease)
		kubetest.Within(w, patience, "the ConfigMap", func(ctx context.Context) error {
			return w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "web-config"}, &corev1.ConfigMap{})
		})
		w.says(ready)
		w.step("release uninstalled by hand")
	})
}

// uninstallByHand removes what Helm would remove: the release's objects and its Secrets.
func (w *world) uninstallByHand() {
	w.Helper()
	w.delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web-config"}})
	err := w.user.DeleteAllOf(w.Context(), &corev1.Secret{}, client.InNamespace(w.namespace), client.MatchingLabels{"owner": "helm"})
	if err != nil {
		w.Fatal(err)
	}
}

// TestSuspended: a HelmRelease that a person suspends is reported as suspended, and continues when it is resumed.
func TestSuspended(t *testing.T) {
	each(t, func(w *world) {
		w.push("1.0.0", false)
		w.push("1.1.0", false)
		w.install("1.0.0")
		w.says(ready)
		w.patch(helmRelease, `{"spec":{"suspend":true}}`)
		w.says("Suspended=True/ManuallySuspended")
		w.upgrade("1.1.0")
		w.says("Suspended=True/ManuallySuspended")
		w.runs("1.0.0")
		w.step("suspended")
		w.patch(helmRelease, `{"spec":{"suspend":null}}`)
		w.says("Suspended=False/Active", ready)
		w.runs("1.1.0")
		w.step("resumed")
	})
}

// TestVersions: versions with a v and with build metadata are installed and upgraded like others. Flux treats two that
// differ only in build metadata as one.
func TestVersions(t *testing.T) {
	each(t, func(w *world) {
		versions := []string{"v1.0.0", "v1.0.1", "1.1.0+build.1", "1.2.0+build.2"}
		for i, version := range versions {
			w.push(version, false)
			if i == 0 {
				w.install(version)
			} else {
				w.index()
				w.upgrade(version)
			}
			w.says(ready)
			w.runs(version)
			w.step("version " + version)
		}
	})
}
