package controller

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/operation"
)

// writes records the writes that reads of the cache wait for.
type writes struct {
	client.Client
	done, awaited []string
}

func (w *writes) Apply(_ context.Context, _ runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	w.note("apply", (&client.ApplyOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency)
	return nil
}

func (w *writes) Delete(_ context.Context, _ client.Object, opts ...client.DeleteOption) error {
	w.note("delete", (&client.DeleteOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency)
	return nil
}

func (w *writes) note(what string, disabled bool) {
	if w.done = append(w.done, what); !disabled {
		w.awaited = append(w.awaited, what)
	}
}

// TestNoReadWaitsForAnEnginesObject: the object of an operation is read from the API server. A cache that never saw the
// object reports no deletion of it, and what waited for that report would wait for ever.
func TestNoReadWaitsForAnEnginesObject(t *testing.T) {
	w := &writes{}
	r := &Reconciler{Client: w}
	made := &unstructured.Unstructured{Object: map[string]any{}}
	made.SetGroupVersionKind(engine.KindJob)
	made.SetUID("u")
	op := &opsv1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "run"}}
	if err := r.execute(t.Context(), op, operation.Plan{Apply: made, Delete: made}); err != nil {
		t.Fatal(err)
	}
	if len(w.done) != 2 || len(w.awaited) > 0 {
		t.Errorf("done: %q; reads wait for %q", w.done, w.awaited)
	}
}
