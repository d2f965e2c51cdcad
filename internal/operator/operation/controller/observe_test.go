package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// TestAnUpgradeReadsItsTargetLive: the cache has an older generation of the target than the API server, or doesn't have
// it yet. An Upgrade that has started ends for good if its target is of another generation, or gone.
func TestAnUpgradeReadsItsTargetLive(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := appsv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	with := func(generation int64) client.Client {
		target := &appsv1alpha1.ApplicationInstance{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web", Generation: generation},
		}
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(target).Build()
	}
	started := metav1.NewTime(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	for name, row := range map[string]struct {
		reason  string
		engine  opsv1alpha1.Engine
		started *metav1.Time
		cached  client.Client
		want    int64
	}{
		"upgrade":          {"the cache is behind", opsv1alpha1.EngineHelm, &started, with(2), 3},
		"of a new target":  {"the cache lacks it", opsv1alpha1.EngineHelm, &started, fake.NewClientBuilder().WithScheme(scheme).Build(), 3},
		"before its start": {"the start records the generation", opsv1alpha1.EngineJob, nil, with(2), 3},
		"another engine":   {"its target changes nothing once it runs", opsv1alpha1.EngineJob, &started, with(2), 2},
	} {
		op := &opsv1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "up"}}
		op.Spec.TargetRef.Name, op.Spec.Engine, op.Status.StartedAt = "web", row.engine, row.started
		r := &Reconciler{Client: row.cached, Live: with(3)}
		if target, err := r.target(t.Context(), op); err != nil || target == nil || target.Generation != row.want {
			t.Errorf("%s: %s: %+v, %v", name, row.reason, target, err)
		}
	}
}
