//go:build kube

package link_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestTwoKubernetesClusters: one control plane delivers to two clusters, each with its own API server and operator, and
// to the same namespace in both. Each has only its own applications. An application that is deleted in one comes back
// there. While one cluster's API server is away, the other one gets what is declared, and nothing of the first one is
// called missing.
func TestTwoKubernetesClusters(t *testing.T) {
	east := newWorld(t)
	east.connect()
	west := east.another()
	west.connect()
	web, shop := web(east.name, east.namespace, 1), named(west.name, west.namespace, "shop")
	east.tend.put(web)
	east.tend.put(shop)
	east.installs()
	east.tend.says("ready in the east", web, isReady(1, "HelmReleaseReady"))
	west.labelled("shop")
	east.hasOnly("web")
	west.hasOnly("shop")

	first := west.exists(applicationInstance, "shop")
	if err := west.user.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "another shop", func(ctx context.Context) error {
		live, err := west.get(ctx, applicationInstance, "shop")
		if err == nil && live.GetUID() == first.GetUID() {
			err = fmt.Errorf("it is the one that was deleted")
		}
		return err
	})
	east.hasOnly("web")
	notMissing := func(status api.DeliveredStatus) bool {
		return !is(api.ConditionReady, api.ConditionFalse, api.ReasonMissing)(status)
	}
	east.tend.says("back in the west", shop, notMissing)

	if err := west.Kill(); err != nil {
		t.Fatal(err)
	}
	east.tend.put(named(east.name, east.namespace, "mail"))
	west.tend.put(named(west.name, west.namespace, "cart"))
	east.labelled("mail")
	east.tend.says("not called missing", shop, notMissing)
	if err := west.Revive(); err != nil {
		t.Fatal(err)
	}
	west.labelled("cart")
	east.hasOnly("mail", "web")
	west.hasOnly("cart", "shop")
}

// another returns a second cluster of the same control plane: another API server, with an operator in a namespace of
// the same name.
func (w *world) another() *world {
	w.Helper()
	server, err := kubetest.Start(kubetest.Tend, kubetest.Flux)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := server.Stop(); err != nil {
			w.Error(err)
		}
	})
	second := &world{
		TB: w.TB, Server: server, tend: w.tend, namespace: w.namespace, name: "west-" + w.namespace,
		user: server.Client(w, "user"), flux: server.Client(w, "helm-controller"),
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: w.namespace, Labels: map[string]string{identity.LabelNamespaceGate: identity.NamespaceGate},
	}}
	if err := second.user.Create(w.Context(), namespace); err != nil {
		w.Fatal(err)
	}
	second.operate()
	return second
}

// labelled waits until an instance exists with the label of this cluster.
func (w *world) labelled(name string) {
	w.Helper()
	if got := w.exists(applicationInstance, name).GetLabels()[identity.LabelClusterID]; got != w.name {
		w.Errorf("%s has the cluster %q, want %s", name, got, w.name)
	}
}

// hasOnly checks that the cluster has the instances of these names, and no others.
func (w *world) hasOnly(names ...string) {
	w.Helper()
	if got := len(w.list(w.Context(), applicationInstance, w.namespace)); got != len(names) {
		w.Errorf("%s has %d instances, want %v", w.name, got, names)
	}
	for _, name := range names {
		if _, err := w.get(w.Context(), applicationInstance, name); apierrors.IsNotFound(err) {
			w.Errorf("%s has no instance %s", w.name, name)
		}
	}
}
