//go:build kube

package link_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
	"tend.dev/tend/internal/operator/link"
	"tend.dev/tend/internal/operator/transition"
)

// still returns a world whose operator doesn't run: the test calls each reconcile, at one fixed time.
func still(t *testing.T) *world {
	t.Helper()
	server := kubetest.Shared()
	w := &world{
		TB: t, Server: server, tend: startTend(t), namespace: server.Namespace(t), user: server.Client(t, "user"),
	}
	w.name = "east-" + w.namespace
	t.Cleanup(w.remove)
	return w
}

// direct returns a reconciler without a cache, whose connection has not started. hook is called before and after each
// write; an error from it ends the reconcile.
func (w *world) direct(hook func() error) *link.Reconciler {
	w.Helper()
	hooked, plain := w.Stepwise(w, w.agent(), hook)
	noon := func() time.Time { return time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC) }
	secret := client.ObjectKey{Namespace: w.namespace, Name: identity.SecretCredentials}
	return &link.Reconciler{
		Client: hooked, Live: plain, Mapper: plain.RESTMapper(), Secret: secret, Enabled: true, Now: noon,
		Events: &transition.Recorder{Client: plain, Live: plain, Reporter: w.agent(), Now: noon},
		Connection: &link.Connection{
			Client: hooked, Live: plain, Secret: secret, Notify: func() {}, Now: noon, Log: slog.New(slog.DiscardHandler),
		},
	}
}

func (w *world) request() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: w.name}}
}

// stored writes credentials that belong to the Cluster with the UID.
func (w *world) stored(uid types.UID) {
	w.Helper()
	yes := true
	err := w.user.Create(w.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: identity.SecretCredentials,
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: opsv1alpha1.GroupVersion.String(), Kind: "Cluster", Name: "other", UID: uid, Controller: &yes},
			},
		},
		StringData: map[string]string{"cluster-id": w.name, "token": "t"},
	})
	if err != nil {
		w.Fatal(err)
	}
}

// written returns the number of the operator's writes.
func (w *world) written() int {
	return len(w.Writes(w, func(write kubetest.Write) bool { return write.Agent == w.agent() && write.Resource != "events" }))
}

// TestSecondReconcileWritesNothing: a second reconcile in a row sends no write.
func TestSecondReconcileWritesNothing(t *testing.T) {
	w := still(t)
	w.declare()
	reconciler := w.direct(func() error { return nil })
	stage := func(name string, least, most int) {
		t.Helper()
		before := w.written()
		if _, err := reconciler.Reconcile(t.Context(), w.request()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		first := w.written() - before
		if first < least || first > most {
			t.Errorf("%s: %d writes, want %d to %d", name, first, least, most)
		}
		for range 2 {
			if _, err := reconciler.Reconcile(t.Context(), w.request()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if again := w.written() - before - first; again > 0 {
			t.Errorf("%s: the reconciles after it sent %d writes", name, again)
		}
	}
	stage("new", 2, 2) // the finalizer, the status
	declared, err := w.cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.stored(declared.UID)
	stage("registered", 1, 1)
}

// TestKillBetweenAnySteps: if the operator is killed before or after any of its writes, the next one finishes: the
// credentials of a deleted Cluster are deleted, the status is written, and a deleted Cluster goes.
func TestKillBetweenAnySteps(t *testing.T) {
	for kill := 1; ; kill++ {
		w := still(t)
		w.stored("a-uid-of-another")
		w.declare()
		survived := true
		reconciler := w.direct(kubetest.KillAt(kill))
		settle := func() {
			t.Helper()
			for range 10 {
				before := w.written()
				_, err := reconciler.Reconcile(t.Context(), w.request())
				switch {
				case errors.Is(err, kubetest.ErrKilled):
					survived = false
				case err != nil:
					t.Fatalf("kill at %d: %v", kill, err)
				case w.written() == before:
					return
				}
			}
			t.Fatalf("kill at %d: no end of writes", kill)
		}
		settle()
		if _, err := w.credentials(t.Context()); !apierrors.IsNotFound(err) {
			t.Errorf("kill at %d: the other Cluster's credentials are there: %v", kill, err)
		}
		declared, err := w.cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if declared.Status.Phase != opsv1alpha1.ClusterPending || declared.Status.ObservedGeneration != declared.Generation ||
			len(declared.Finalizers) != 1 {
			t.Errorf("kill at %d: %+v, finalizers %v", kill, declared.Status, declared.Finalizers)
		}
		if err := w.user.Delete(t.Context(), declared); err != nil {
			t.Fatal(err)
		}
		settle()
		if _, err := w.cluster(t.Context()); !apierrors.IsNotFound(err) {
			t.Fatalf("kill at %d: the Cluster is there: %v", kill, err)
		}
		if survived {
			if kill < 10 {
				t.Fatalf("only %d moments to be killed at", kill-1)
			}
			return
		}
	}
}
