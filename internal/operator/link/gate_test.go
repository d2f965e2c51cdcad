//go:build kube

package link_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestManagedNamespaces: the Cluster lists the namespace while it is labelled, with the templates of the allowed types.
func TestManagedNamespaces(t *testing.T) {
	w := emptyWorld(t)
	w.operate()
	w.declare()
	w.lists([]string{})
	w.change(func(n *corev1.Namespace) {
		n.Annotations = map[string]string{identity.AnnotationAllowedTypes: "Upgrade"}
	})
	w.lists([]string{"upgrade.helm"})
	w.change(func(n *corev1.Namespace) { delete(n.Labels, identity.LabelNamespaceGate) })
	w.lists(nil)
}

// change changes the namespace.
func (w *world) change(how func(*corev1.Namespace)) {
	w.Helper()
	namespace := &corev1.Namespace{}
	if err := w.user.Get(w.Context(), client.ObjectKey{Name: w.namespace}, namespace); err != nil {
		w.Fatal(err)
	}
	how(namespace)
	if err := w.user.Update(w.Context(), namespace); err != nil {
		w.Fatal(err)
	}
}

// lists waits until the Cluster lists the namespace with these templates. Nil means that it must not be listed.
func (w *world) lists(templates []string) {
	w.Helper()
	kubetest.Eventually(w, "managed namespaces", func(ctx context.Context) error {
		cluster, err := w.cluster(ctx)
		if err != nil {
			return err
		}
		all := cluster.Status.ManagedNamespaces
		i := slices.IndexFunc(all, func(n opsv1alpha1.ManagedNamespace) bool { return n.Name == w.namespace })
		if cluster.Status.Phase == "" || (i >= 0) != (templates != nil) ||
			i >= 0 && !slices.Equal(all[i].AllowedOperationTemplates, templates) {
			return fmt.Errorf("want %s with %q, have %+v", w.namespace, templates, all)
		}
		return nil
	})
}
