//go:build simulate

package simulation

import (
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// removes deletes any object of a kind, as a person does.
func (w *World) removes(random *rand.Rand, kind schema.GroupVersionKind) {
	all := w.cluster.List(kind)
	if len(all) == 0 {
		return
	}
	live := pick(random, all)
	w.storyf("%s %s/%s is deleted in the cluster", kind.Kind, live.GetNamespace(), live.GetName())
	_, _ = w.cluster.Delete(live, person, live.GetUID())
}

func deleteInstance(w *World, random *rand.Rand) { w.removes(random, cluster.Instance) }

func deleteRelease(w *World, random *rand.Rand) { w.removes(random, cluster.HelmRelease) }

func deleteJob(w *World, random *rand.Rand) { w.removes(random, cluster.Job) }

// patchInstance changes the version of an application in the cluster.
func patchInstance(w *World, random *rand.Rand) {
	if all := w.cluster.List(cluster.Instance); len(all) > 0 {
		live := pick(random, all)
		w.storyf("%s/%s is patched in the cluster", live.GetNamespace(), live.GetName())
		w.patch(cluster.Instance, live.GetNamespace(), live.GetName(), map[string]any{
			"spec": map[string]any{"chart": map[string]any{"version": "3.0.0"}},
		})
	}
}

// pauseInstance pauses an application, or lets it go on.
func pauseInstance(w *World, random *rand.Rand) {
	if all := w.cluster.List(cluster.Instance); len(all) > 0 {
		live := pick(random, all)
		var next any = identity.ReconcileDisabled
		if live.GetAnnotations()[identity.AnnotationReconcile] != "" {
			next = nil
		}
		w.storyf("%s/%s is paused: %v", live.GetNamespace(), live.GetName(), next)
		w.annotate(cluster.Instance, live.GetNamespace(), live.GetName(), identity.AnnotationReconcile, next)
	}
}

func (w *World) annotate(kind schema.GroupVersionKind, namespace, name, annotation string, value any) {
	annotations := map[string]any{annotation: value}
	w.patch(kind, namespace, name, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

func cancelOperation(w *World, random *rand.Rand) {
	if all := w.cluster.List(cluster.Operation); len(all) > 0 {
		live := pick(random, all)
		w.annotate(cluster.Operation, live.GetNamespace(), live.GetName(), identity.AnnotationCancel, "true")
	}
}

func deleteNamespace(w *World, random *rand.Rand) {
	if live := w.cluster.Get(cluster.Namespace, "", pick(random, namespaces)); live != nil {
		w.storyf("the namespace %s is deleted", live.GetName())
		_, _ = w.cluster.Delete(live, person, live.GetUID())
	}
}

// createNamespaces creates the namespaces that are gone.
func createNamespaces(w *World, _ *rand.Rand) {
	for _, name := range namespaces {
		if w.cluster.Get(cluster.Namespace, "", name) == nil {
			w.namespace(name)
		}
	}
}
