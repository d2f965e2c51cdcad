package link

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/puller"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// op returns the manifest of an operation with a value of the annotation that cancels it, and one of a label.
func op(cancel, label string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"type": "Backup"}}}
	made.SetGroupVersionKind(kindOperation)
	made.SetNamespace("prod")
	made.SetName("nightly")
	made.SetLabels(map[string]string{"team": label})
	if cancel != "" {
		made.SetAnnotations(map[string]string{identity.AnnotationCancel: cancel})
	}
	return made
}

// TestACancellationIsARequest: a denial in Tend reaches an operation whose cancellation people have set too, or have
// refused, in the cluster. Every other field of theirs stays theirs.
func TestACancellationIsARequest(t *testing.T) {
	for name, test := range map[string]struct {
		// two: another manager sets the same fields.
		two         bool
		hands, tend *unstructured.Unstructured
		// want is the annotation in the cluster, conflict whether Tend's apply is in conflict.
		want     string
		conflict bool
	}{
		"both cancel":            {false, op("true", "a"), op("denied by ada", "a"), "denied by ada", false},
		"two cancel":             {true, op("true", "a"), op("denied by ada", "a"), "denied by ada", false},
		"a label is of two":      {true, op("true", "b"), op("denied by ada", "a"), "true", true},
		"the cluster refuses":    {false, op("false", "a"), op("denied by ada", "a"), "denied by ada", false},
		"the cluster cancels":    {false, op("true", "a"), op("false", "a"), "true", true},
		"a label is theirs":      {false, op("", "b"), op("denied by ada", "a"), "", true},
		"a label is theirs also": {false, op("true", "b"), op("denied by ada", "a"), "true", true},
	} {
		t.Run(name, func(t *testing.T) {
			made := cluster.New()
			prod := &unstructured.Unstructured{Object: map[string]any{}}
			prod.SetGroupVersionKind(cluster.Namespace)
			prod.SetName("prod")
			if _, err := made.Create(prod, cluster.Write{By: "kubectl"}); err != nil {
				t.Fatal(err)
			}
			c, err := client.New(&rest.Config{
				Host: "http://cluster", Transport: made.As(cluster.Client{Name: "operator"}), QPS: -1,
				ContentConfig: rest.ContentConfig{ContentType: "application/json"},
			}, client.Options{Scheme: runtime.NewScheme()})
			if err != nil {
				t.Fatal(err)
			}
			a := &applier{Client: c, Live: c}
			applies := func(manifest *unstructured.Unstructured) error {
				text, err := json.Marshal(manifest)
				if err != nil {
					t.Fatal(err)
				}
				_, err = a.Apply(context.Background(), text, false)
				return err
			}
			if err := applies(op("", "a")); err != nil {
				t.Fatal(err)
			}
			if _, err := made.Merge(test.hands, cluster.Write{By: "kubectl"}); err != nil {
				t.Fatal(err)
			}
			if test.two {
				if _, err := made.Apply(test.hands, cluster.Write{By: "argocd", Force: true}); err != nil {
					t.Fatal(err)
				}
			}
			err = applies(test.tend)
			var conflict *puller.ConflictError
			if errors.As(err, &conflict) != test.conflict || err != nil && !test.conflict {
				t.Errorf("the apply ends with %v; conflict: %t", err, test.conflict)
			}
			live := made.Get(kindOperation, "prod", "nightly")
			if got := live.GetAnnotations()[identity.AnnotationCancel]; got != test.want {
				t.Errorf("the cluster has %q, want %q", got, test.want)
			}
		})
	}
}
