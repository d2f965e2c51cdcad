//go:build kube

package main_test

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/kubetest"
)

var (
	kindInstance  = schema.GroupVersionKind{Group: "apps.vworkspace.io", Version: "v1alpha1", Kind: "ApplicationInstance"}
	kindRelease   = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	kindOCISource = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}
)

var urls = map[string]string{"oci": "oci://registry.example.org/charts", "helm": "https://charts.example.org"}

// world is a server with Flux's kinds and a namespace.
type world struct {
	testing.TB
	server    *kubetest.Server
	namespace string
	user      client.WithWatch
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server, err := kubetest.Start(kubetest.Tend, kubetest.Flux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	user, err := client.NewWithWatch(server.As("user"), client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return &world{TB: t, server: server, namespace: server.Namespace(t), user: user}
}

// create creates instances with charts of a source, oci or helm.
func (w *world) create(count int, source string) {
	w.Helper()
	w.each(count, func(i int) error {
		name := fmt.Sprintf("web-%04d", i)
		return w.user.Create(w.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": kindInstance.GroupVersion().String(), "kind": kindInstance.Kind,
			"metadata": map[string]any{"namespace": w.namespace, "name": name},
			"spec": map[string]any{
				"appRef": map[string]any{"catalogId": "web"}, "release": map[string]any{"name": name, "namespace": w.namespace},
				"chart": map[string]any{"sourceType": source, "url": urls[source], "name": "web", "version": "1.2.3"},
				"values": map[string]any{"source": "inline",
					"inline": map[string]any{"replicas": int64(2), "host": name + ".example.org"}},
			},
		}})
	})
}

// touch sets an annotation without a meaning on each instance.
func (w *world) touch(count int) {
	w.Helper()
	w.each(count, func(i int) error {
		instance := &unstructured.Unstructured{}
		instance.SetGroupVersionKind(kindInstance)
		instance.SetNamespace(w.namespace)
		instance.SetName(fmt.Sprintf("web-%04d", i))
		return w.user.Patch(w.Context(), instance,
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"note":"x"}}}`)))
	})
}

// each calls a function for each number below count, several at a time.
func (w *world) each(count int, do func(int) error) {
	w.Helper()
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					w.Error(err)
				}
			}
		})
	}
	for i := range count {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
}

// converge acts as Flux, which installs each release as soon as it is declared, until count instances are ready.
func (w *world) converge(count int) {
	w.Helper()
	releases := w.watch(kindRelease)
	defer releases.Stop()
	var flux sync.WaitGroup
	for range 4 {
		flux.Go(func() {
			for event := range releases.ResultChan() {
				live, ok := event.Object.(*unstructured.Unstructured)
				if ok && event.Type == watch.Added {
					if err := w.install(live); err != nil {
						w.Errorf("install %s: %v", live.GetName(), err)
					}
				}
			}
		})
	}
	instances := w.watch(kindInstance)
	defer instances.Stop()
	ready := map[string]bool{}
	for len(ready) < count {
		select {
		case event, open := <-instances.ResultChan():
			if !open {
				w.Fatalf("the watch ended with %d instances ready", len(ready))
			}
			if live, ok := event.Object.(*unstructured.Unstructured); ok && isReady(live) {
				ready[live.GetName()] = true
			}
		case <-w.Context().Done():
			w.Fatalf("%d of %d instances are ready", len(ready), count)
		}
	}
	releases.Stop()
	flux.Wait()
}

func (w *world) watch(kind schema.GroupVersionKind) watch.Interface {
	w.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	watching, err := w.user.Watch(w.Context(), list, client.InNamespace(w.namespace))
	if err != nil {
		w.Fatal(err)
	}
	return watching
}

func isReady(instance *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(instance.Object, "status", "conditions")
	for _, c := range conditions {
		if values, ok := c.(map[string]any); ok && values["type"] == "Ready" && values["status"] == "True" {
			return true
		}
	}
	return false
}

// install writes the statuses that Flux's controllers write for an installed release: first the OCIRepository's, then
// the release's.
func (w *world) install(release *unstructured.Unstructured) error {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("1.2.3")))
	if _, helm, _ := unstructured.NestedMap(release.Object, "spec", "chart"); helm {
		release.Object["status"] = map[string]any{
			"observedGeneration": release.GetGeneration(), "conditions": ready("InstallSucceeded", release),
			"lastAttemptedRevision": "1.2.3",
		}
		return w.user.Status().Update(w.Context(), release)
	}
	source := &unstructured.Unstructured{}
	source.SetGroupVersionKind(kindOCISource)
	if err := w.user.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: release.GetName() + "-source"},
		source); err != nil {
		return err
	}
	source.Object["status"] = map[string]any{
		"observedGeneration": source.GetGeneration(), "conditions": ready("Succeeded", source),
		"artifact": map[string]any{"revision": "1.2.3@" + digest, "digest": digest, "path": "p", "url": "http://source/p",
			"lastUpdateTime": "2026-11-25T12:00:00Z"},
	}
	if err := w.user.Status().Update(w.Context(), source); err != nil {
		return err
	}
	release.Object["status"] = map[string]any{
		"observedGeneration": release.GetGeneration(), "conditions": ready("InstallSucceeded", release),
		"lastAttemptedRevision": "1.2.3+" + digest[len("sha256:"):][:12], "lastAttemptedRevisionDigest": digest,
	}
	return w.user.Status().Update(w.Context(), release)
}

func ready(reason string, of *unstructured.Unstructured) []any {
	return []any{map[string]any{
		"type": "Ready", "status": "True", "reason": reason, "message": "flux says " + reason,
		"observedGeneration": of.GetGeneration(),
		"lastTransitionTime": "2026-11-25T12:00:00Z",
	}}
}

// writes counts the writes of an operator by verb and kind, as the API server's audit log has them.
func (w *world) writes(operator string) map[string]int {
	w.Helper()
	counts := map[string]int{}
	w.server.Writes(w, func(write kubetest.Write) bool {
		if write.User != operator {
			return false
		}
		kind := write.Verb + " " + write.Resource
		if write.Subresource != "" {
			kind += "/" + write.Subresource
		}
		counts[kind]++
		return false
	})
	return counts
}
