//go:build kube

package instance_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/kubetest"
)

// change updates the instance.
func (w *world) change(how func(*appsv1alpha1.ApplicationInstance)) {
	w.Helper()
	kubetest.Eventually(w, "a change of the instance", func(ctx context.Context) error {
		instance, err := w.instance(ctx)
		if err != nil {
			return err
		}
		how(instance)
		return w.user.Update(ctx, instance)
	})
}

func (w *world) annotate(key, value string) {
	w.Helper()
	w.change(func(instance *appsv1alpha1.ApplicationInstance) {
		if instance.Annotations == nil {
			instance.Annotations = map[string]string{}
		}
		instance.Annotations[key] = value
	})
}

// edit changes a field of the release as a person does with kubectl edit.
func (w *world) edit(value any, path ...string) {
	w.Helper()
	kubetest.Eventually(w, "edit", func(ctx context.Context) error {
		release, err := w.get(ctx, helmRelease, "web")
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(release.Object, value, path...); err != nil {
			w.Fatal(err)
		}
		return w.user.Update(ctx, release, client.FieldOwner("kubectl-edit"))
	})
}

// released waits until a field of the release's spec has a value.
func (w *world) released(want string, path ...string) {
	w.Helper()
	kubetest.Eventually(w, strings.Join(path, "."), func(ctx context.Context) error {
		release, err := w.get(ctx, helmRelease, "web")
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(release.Object, path...); got != want {
			return fmt.Errorf("it is %q, want %q", got, want)
		}
		return nil
	})
}

// message returns the message of a condition.
func (w *world) message(kind string) string {
	w.Helper()
	instance, err := w.instance(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return meta.FindStatusCondition(instance.Status.Conditions, kind).Message
}

// TestFluxTakesEveryOption: with Flux's real CRDs each field of the instance is stored, and none is dropped.
func TestFluxTakesEveryOption(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	const declared = `
timeout: 20m
suspend: true
serviceAccountName: deployer
install: {timeout: 30m, remediation: {retries: 3, ignoreTestFailures: true, remediateLastFailure: false}}
upgrade: {timeout: 15m, cleanupOnFail: true, remediation: {retries: -1, ignoreTestFailures: false, remediateLastFailure: false, strategy: uninstall}}
test: {enable: true, ignoreFailures: true}
driftDetection:
  mode: enabled
  ignore:
  - paths: [/spec/replicas]
    target: {group: apps, version: v1, kind: Deployment, name: web.*, namespace: prod, labelSelector: app=web, annotationSelector: team=a}
postRenderers:
- kustomize:
    patches: [{patch: "a: b", target: {kind: Service}}]
    images: [{name: web, newName: mirror/web, newTag: "2", digest: "sha256:00"}]
valuesFrom:
- {kind: Secret, name: first}
- {kind: ConfigMap, name: second, valuesKey: host, targetPath: ingress.host, optional: true}
`
	const access = `{secretRef: {name: login}, certSecretRef: {name: tls}, verify: {provider: cosign, secretRef: {name: keys}}}`
	w.change(func(instance *appsv1alpha1.ApplicationInstance) {
		if err := yaml.Unmarshal([]byte(declared), &instance.Spec); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(access), instance.Spec.Chart); err != nil {
			t.Fatal(err)
		}
	})
	w.released("20m", "spec", "timeout")
	for text, kind := range map[string]*unstructured.Unstructured{
		declared: w.live(helmRelease, "web"), access: w.live(ociRepository, "web-source"),
	} {
		var want map[string]any
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		stored, err := yaml.Marshal(kind.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := yaml.Unmarshal(stored, &got); err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if diff := cmp.Diff(value, got[key]); diff != "" {
				t.Errorf("%s of %s: %s", key, kind.GetKind(), diff)
			}
		}
	}
	w.says("Suspended=True/ManuallySuspended")
	if said := w.message("Suspended"); said != "spec.suspend is true: set it to false to continue" {
		t.Errorf("Suspended says %q", said)
	}
}

func (w *world) live(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	w.Helper()
	live, err := w.get(w.Context(), kind, name)
	if err != nil {
		w.Fatal(err)
	}
	return live
}

var patchIn = regexp.MustCompile(`kubectl patch helmrelease web -n (\S+) --type=json --field-manager=(\S+) -p '([^']+)'`)

// TestConflictCommandGivesTheFieldUp: running the command in the message as it is ends the conflict, and changes
// nothing else.
func TestConflictCommandGivesTheFieldUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.exists(helmRelease, "web")
	w.edit("1h", "spec", "interval")
	w.change(func(instance *appsv1alpha1.ApplicationInstance) { instance.Spec.Timeout = "17m" })
	w.says("Blocked=True/FieldConflict")
	found := patchIn.FindStringSubmatch(w.message("Blocked"))
	if found == nil || found[1] != w.namespace || found[2] != "kubectl-edit" {
		t.Fatalf("Blocked says %q", w.message("Blocked"))
	}
	patch := client.RawPatch(types.JSONPatchType, []byte(found[3]))
	if err := w.user.Patch(t.Context(), w.live(helmRelease, "web"), patch, client.FieldOwner(found[2])); err != nil {
		t.Fatalf("%s: %v", found[0], err)
	}
	w.says("Blocked=False/Unblocked")
	w.released("17m", "spec", "timeout")
	w.released("5m0s", "spec", "interval")
}

// TestTakeOver: an annotation takes over the fields of the manager that it names, once. An annotation with another
// manager's name doesn't.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.exists(helmRelease, "web")
	w.edit("1h", "spec", "interval")
	w.change(func(instance *appsv1alpha1.ApplicationInstance) { instance.Spec.Timeout = "17m" })
	w.says("Blocked=True/FieldConflict")
	w.annotate("apps.vworkspace.io/take-over", "somebody-else")
	w.change(func(instance *appsv1alpha1.ApplicationInstance) { instance.Spec.Timeout = "18m" })
	w.says("Blocked=True/FieldConflict")
	w.released("1h", "spec", "interval")
	w.annotate("apps.vworkspace.io/take-over", "kubectl-edit")
	w.says("Blocked=False/Unblocked")
	w.released("5m0s", "spec", "interval")
	w.released("18m", "spec", "timeout")
	w.handled(func(status appsv1alpha1.ApplicationInstanceStatus) string { return status.LastHandledTakeOver }, "kubectl-edit")
	w.edit("2h", "spec", "interval")
	w.change(func(instance *appsv1alpha1.ApplicationInstance) { instance.Spec.Timeout = "19m" })
	w.says("Blocked=True/FieldConflict")
	w.released("2h", "spec", "interval")
}

// TestTakeOverOfDrift: with the annotation a person's change is undone, without any other change.
func TestTakeOverOfDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.exists(helmRelease, "web")
	w.edit("1h", "spec", "interval")
	w.says("Degraded=True/Drifted")
	w.annotate("apps.vworkspace.io/take-over", "kubectl-edit")
	w.released("5m0s", "spec", "interval")
	w.says("Degraded=False/Recovered", "Blocked=False/Unblocked")
}

// handled waits until a field of the status has a value.
func (w *world) handled(of func(appsv1alpha1.ApplicationInstanceStatus) string, want string) {
	w.Helper()
	kubetest.Eventually(w, "the status", func(ctx context.Context) error {
		instance, err := w.instance(ctx)
		if err == nil && of(instance.Status) != want {
			err = fmt.Errorf("it has %q, want %q", of(instance.Status), want)
		}
		return err
	})
}

// TestReconcileNow: a request reaches both of Flux's objects, and doesn't block requests that a person makes there
// later.
func TestReconcileNow(t *testing.T) {
	t.Parallel()
	const requested, reset = "reconcile.fluxcd.io/requestedAt", "reconcile.fluxcd.io/resetAt"
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.exists(helmRelease, "web")
	w.annotate(requested, "1")
	w.handled(func(status appsv1alpha1.ApplicationInstanceStatus) string { return status.LastHandledReconcileAt }, "1")
	for _, live := range []*unstructured.Unstructured{w.live(helmRelease, "web"), w.live(ociRepository, "web-source")} {
		if has := live.GetAnnotations(); has[requested] != "1" || has[reset] != "1" {
			t.Errorf("%s has %v", live.GetKind(), has)
		}
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+requested+`":"by flux"}}}`))
	if err := w.user.Patch(t.Context(), w.live(helmRelease, "web"), patch, client.FieldOwner("flux")); err != nil {
		t.Fatal(err)
	}
	w.change(func(instance *appsv1alpha1.ApplicationInstance) { instance.Spec.Timeout = "17m" })
	w.released("17m", "spec", "timeout")
	w.says("Blocked=False/Unblocked")
	if has := w.live(helmRelease, "web").GetAnnotations()[requested]; has != "by flux" {
		t.Errorf("the later request is %q", has)
	}
}

// TestDependsOn: an instance waits for one that doesn't exist, and names that one's release to Flux once it does.
func TestDependsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.operate()
	w.web()
	w.exists(helmRelease, "web")
	w.change(func(instance *appsv1alpha1.ApplicationInstance) {
		instance.Spec.DependsOn = []appsv1alpha1.LocalRef{{Name: "db"}}
	})
	w.says("Blocked=True/MissingDependencies")
	db, err := w.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db.ObjectMeta.Name, db.ObjectMeta.ResourceVersion, db.ObjectMeta.UID = "db", "", ""
	db.Spec.Release.Name, db.Spec.DependsOn = "database", nil
	if err := w.user.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	w.says("Blocked=False/Unblocked")
	on, _, _ := unstructured.NestedSlice(w.live(helmRelease, "web").Object, "spec", "dependsOn")
	if diff := cmp.Diff([]any{map[string]any{"name": "database"}}, on); diff != "" {
		t.Error(diff)
	}
	kubetest.Eventually(t, "a cycle", func(ctx context.Context) error {
		if err := w.user.Get(ctx, client.ObjectKeyFromObject(db), db); err != nil {
			return err
		}
		db.Spec.DependsOn = []appsv1alpha1.LocalRef{{Name: "web"}}
		return w.user.Update(ctx, db)
	})
	w.says("Blocked=True/MissingDependencies")
	if said := w.message("Blocked"); !strings.Contains(said, "a cycle: db waits for web") {
		t.Errorf("Blocked says %q", said)
	}
}
