//go:build kube

package link_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestTheLinkToTendFails: Tend and the cluster change while the link is cut, and while answers are lost on it. When the
// link is back, nothing is lost or done twice, and Tend shows the cluster's state.
func TestTheLinkToTendFails(t *testing.T) {
	for name, harm := range map[string]func(*wire){
		"cut":          func(l *wire) { l.cut.Store(true) },
		"answers lost": func(l *wire) { l.lossy.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.connect()
			first := web(w.name, w.namespace, 1)
			w.tend.put(first)
			w.installs()
			w.tend.says("ready", first, isReady(1, "HelmReleaseReady"))
			before := w.applies()
			harm(&w.tend.link)
			w.tend.server.CloseClientConnections()
			second := web(w.name, w.namespace, 2)
			w.tend.put(second)
			w.misses()
			w.fails("what Flux says while nobody hears it")
			w.tend.link.heal()
			w.says(opsv1alpha1.ClusterConnected, "Connected=True/RoundTripOK")
			w.fetched("1.0.2")
			w.installs()
			w.tend.says("ready with the new version", second, isReady(2, "HelmReleaseReady"))
			if n := w.applies() - before; n != 1 {
				t.Errorf("the instance was applied %d times, want once", n)
			}
			w.fails("what Flux says afterwards")
			w.tend.says("no longer ready", second, saysFailed)
		})
	}
}

// misses waits until the Cluster reports that Tend doesn't answer.
func (w *world) misses() {
	w.Helper()
	kubetest.Eventually(w, "the Cluster's word of the cut", func(ctx context.Context) error {
		cluster, err := w.cluster(ctx)
		if err == nil && !meta.IsStatusConditionFalse(cluster.Status.Conditions, opsv1alpha1.ConditionConnected) {
			err = fmt.Errorf("it says %+v", cluster.Status.Conditions)
		}
		return err
	})
}

// saysFailed reports whether a status shows a failed release.
func saysFailed(status api.DeliveredStatus) bool {
	c := api.FindCondition(status.Conditions, api.ConditionReady)
	return c != nil && c.Status == api.ConditionFalse && c.Reason == "HelmReleaseFailed"
}

// fails makes Flux report a failed release, and waits until the instance shows it.
func (w *world) fails(message string) {
	w.Helper()
	w.play(helmRelease, "web", "UpgradeFailed", func(_ *unstructured.Unstructured, status map[string]any) {
		for _, c := range status["conditions"].([]any) {
			c.(map[string]any)["status"], c.(map[string]any)["message"] = "False", message
		}
	})
	kubetest.Eventually(w, "the instance's word of the failure", func(ctx context.Context) error {
		live, err := w.get(ctx, applicationInstance, "web")
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
		for _, c := range conditions {
			if values, _ := c.(map[string]any); values["type"] == "Ready" && values["status"] == "False" && values["message"] == message {
				return nil
			}
		}
		return fmt.Errorf("it says %v", conditions)
	})
}

// TestTheAPIServerRestarts: killing the API server in the middle of deliveries fails none of them. Each is applied once
// the server is back.
func TestTheAPIServerRestarts(t *testing.T) {
	const count = 20
	server, err := kubetest.Start(kubetest.Tend, kubetest.Flux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := worldOf(t, server)
	w.operate()
	w.connect()
	for i := range count {
		w.tend.put(named(w.name, w.namespace, fmt.Sprintf("web-%02d", i)))
		if i == count/4 {
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := server.Revive(); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		object := named(w.name, w.namespace, fmt.Sprintf("web-%02d", i))
		w.exists(applicationInstance, object.Name)
		w.tend.says("applied", object, func(status api.DeliveredStatus) bool { return status.ObservedGeneration == 1 })
	}
	w.tend.mu.Lock()
	defer w.tend.mu.Unlock()
	for _, outcome := range w.tend.results {
		if outcome != "succeeded" && outcome != "noop" {
			t.Errorf("a delivery ended as %s, while the API server was away", outcome)
		}
	}
}

// named returns an application with a name.
func named(cluster, namespace, name string) api.Object {
	object := web(cluster, namespace, 1)
	object.Name, object.Metadata.UID = name, "uid-"+name
	object.Spec = fmt.Appendf(nil, `{"cluster":%q,"appRef":{"catalogId":"web"},"chart":{"sourceType":"oci","url":"oci://registry.example.org/charts",
		"name":"web","version":"1.0.0"},"release":{"name":%q},"values":{"source":"inline","inline":{}}}`, cluster, name)
	return object
}

// TestANamespaceIsDeletedUnderItsInstances: Kubernetes deletes a namespace with 300 instances, while Flux keeps its
// releases until it has uninstalled them. No finalizer of the operator keeps anything.
func TestANamespaceIsDeletedUnderItsInstances(t *testing.T) {
	const count = 300
	w := emptyWorld(t)
	doomed := w.Namespace(t)
	w.doomed = doomed
	w.operate()
	for i := range count {
		w.declareIn(doomed, fmt.Sprintf("web-%03d", i))
	}
	for some := 25; some <= count; some += 25 { // each step gets a minute
		kubetest.Eventually(t, "the releases", func(ctx context.Context) error {
			if n := len(w.list(ctx, helmRelease, doomed)); n < some {
				return fmt.Errorf("%d of %d", n, some)
			}
			return nil
		})
	}
	for _, live := range w.list(t.Context(), helmRelease, doomed) {
		w.holds(&live, `["finalizers.fluxcd.io"]`)
	}
	if err := w.user.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: doomed}}); err != nil {
		t.Fatal(err)
	}
	kinds := []schema.GroupVersionKind{helmRelease, ociRepository, applicationInstance}
	for some := count - 25; some >= 0; some -= 25 {
		for _, kind := range kinds { // hundreds of requests, before the operator's minute starts
			w.empty(t.Context(), kind, doomed)
		}
		kubetest.Eventually(t, "the end of all objects", func(ctx context.Context) error {
			for _, kind := range kinds {
				if n := w.empty(ctx, kind, doomed); n > some {
					return fmt.Errorf("%d objects %s are left, want %d", n, kind.Kind, some)
				}
			}
			return nil
		})
	}
}

// declareIn creates an instance as a person would.
func (w *world) declareIn(namespace, name string) {
	w.Helper()
	err := w.user.Create(w.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": applicationInstance.GroupVersion().String(), "kind": applicationInstance.Kind,
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"appRef": map[string]any{"catalogId": "web"}, "release": map[string]any{"name": name, "namespace": namespace},
			"chart":  map[string]any{"sourceType": "oci", "url": "oci://registry.example.org/charts", "name": "web", "version": "1.2.3"},
			"values": map[string]any{"source": "inline", "inline": map[string]any{}},
		},
	}})
	if err != nil {
		w.Fatal(err)
	}
}

// empty does what Kubernetes repeats for a deleted namespace: it deletes all objects of a kind. Flux releases its
// deleted releases. empty returns the number of remaining objects.
func (w *world) empty(ctx context.Context, kind schema.GroupVersionKind, namespace string) int {
	w.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	if err := w.user.DeleteAllOf(ctx, object, client.InNamespace(namespace)); err != nil {
		w.Fatal(err)
	}
	left := w.list(ctx, kind, namespace)
	for _, live := range left {
		if kind == helmRelease && live.GetDeletionTimestamp() != nil {
			w.holds(&live, `null`)
		}
	}
	return len(left)
}

// list lists the objects of a kind in a namespace.
func (w *world) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) []unstructured.Unstructured {
	w.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := w.user.List(ctx, list, client.InNamespace(namespace)); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// holds sets the finalizers of Flux's controller on a release, if it exists.
func (w *world) holds(live client.Object, finalizers string) {
	w.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`))
	if err := w.flux.Patch(w.Context(), live, patch); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
}
