//go:build kube

package instance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"tend.dev/tend/internal/operator/instance"
	"tend.dev/tend/internal/operator/kubetest"
	"tend.dev/tend/internal/operator/transition"
)

// direct returns a reconciler without a cache, and the request for the instance. hook is called before and after each
// write; an error from it ends the reconcile.
func (w *world) direct(hook func() error) (*instance.Reconciler, reconcile.Request) {
	w.Helper()
	hooked, plain := w.server.Stepwise(w, w.agent(), hook)
	reconciler := &instance.Reconciler{
		Client: hooked, ClusterID: func(context.Context) (string, error) { return "berlin", nil }, Now: time.Now,
		Served: func(schema.GroupVersionKind) bool { return true },
		Events: &transition.Recorder{Client: plain, Live: plain, Reporter: w.agent(), Now: time.Now},
	}
	return reconciler, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "web"}}
}

// reconcile reconciles once, without a fault.
func (w *world) reconcile() {
	w.Helper()
	reconciler, request := w.direct(kubetest.Survive)
	if _, err := reconciler.Reconcile(w.Context(), request); err != nil {
		w.Fatal(err)
	}
}

// TestSecondReconcileWritesNothing: at each stage, a second reconcile in a row sends no write.
func TestSecondReconcileWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.web()
	stage := func(name string, most int) {
		t.Helper()
		before := len(w.writes())
		w.reconcile()
		first := w.writes()[before:]
		if len(first) == 0 || len(first) > most {
			t.Errorf("%s: the first reconcile sent %d writes, want 1 to %d: %+v", name, len(first), most, first)
		}
		w.reconcile()
		w.reconcile()
		if again := w.writes()[before+len(first):]; len(again) > 0 {
			t.Errorf("%s: the reconciles after it sent %+v", name, again)
		}
	}
	stage("new", 4) // the finalizer, the source, the release, the status
	w.installs("Ready=True/InstallSucceeded", "Released=True/InstallSucceeded")
	stage("ready", 1)
	w.installs("Ready=False/UpgradeFailed", "Reconciling=True/Progressing", "Released=False/UpgradeFailed")
	stage("failed", 1)
}

// TestKillBetweenAnySteps: if the operator is killed before or after any of its writes, the next one finishes with the
// same result. The instance is created, upgraded and deleted meanwhile.
func TestKillBetweenAnySteps(t *testing.T) {
	t.Parallel()
	for kill := 1; ; kill++ {
		w := newWorld(t, kubetest.Shared())
		w.web()
		reconciler, request := w.direct(kubetest.KillAt(kill))
		survived := true
		settle := func() {
			t.Helper()
			for range 10 {
				before := len(w.writes())
				if _, err := reconciler.Reconcile(t.Context(), request); err != nil && !errors.Is(err, kubetest.ErrKilled) {
					t.Fatalf("kill at %d: %v", kill, err)
				} else if err != nil {
					survived = false
				} else if len(w.writes()) == before {
					return
				}
			}
			t.Fatalf("kill at %d: no end of writes", kill)
		}
		settle()
		w.ends(kill, "1.2.3")
		live, err := w.instance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		live.Spec.Chart.Version = "2.0.0"
		if err := w.user.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		settle()
		w.ends(kill, "2.0.0")
		if live, err = w.instance(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.user.Delete(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		settle()
		if _, err := w.instance(t.Context()); client.IgnoreNotFound(err) != nil || err == nil {
			t.Fatalf("kill at %d: the instance is still there: %v", kill, err)
		}
		for kind, name := range map[schema.GroupVersionKind]string{helmRelease: "web", ociRepository: "web-source"} {
			if _, err := w.get(t.Context(), kind, name); err == nil {
				t.Errorf("kill at %d: %s outlives the instance", kill, kind.Kind)
			}
		}
		if survived {
			if kill < 10 {
				t.Fatalf("only %d moments to be killed at", kill-1)
			}
			return
		}
	}
}

// ends checks that the children have the version, and the status reports it.
func (w *world) ends(kill int, version string) {
	w.Helper()
	live, err := w.instance(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	source, err := w.get(w.Context(), ociRepository, "web-source")
	if err != nil {
		w.Fatal(err)
	}
	tag := fmt.Sprint(source.Object["spec"].(map[string]any)["ref"].(map[string]any)["tag"])
	if tag != version || live.Status.LastAppliedChart == nil || live.Status.LastAppliedChart.Version != version ||
		!meta.IsStatusConditionTrue(live.Status.Conditions, "Reconciling") || live.Status.ObservedGeneration != live.Generation {
		w.Errorf("kill at %d: tag %s, status %+v, want version %s", kill, tag, live.Status, version)
	}
}
