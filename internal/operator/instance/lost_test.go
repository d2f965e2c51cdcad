package instance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/instance"
	"tend.dev/tend/internal/operator/simulation/cluster"
	"tend.dev/tend/internal/operator/transition"
)

// stored returns a cluster with an instance in it.
func stored(t *testing.T) *cluster.Cluster {
	t.Helper()
	made := cluster.New()
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"prod","labels":{"managed-by":"vworkspace"}}}`,
		`{"apiVersion":"apps.vworkspace.io/v1alpha1","kind":"ApplicationInstance","metadata":{"namespace":"prod","name":"web"},"spec":{
			"appRef":{"catalogId":"web"},"release":{"name":"web","namespace":"prod"},
			"chart":{"sourceType":"oci","url":"oci://registry.example.org/charts","name":"web","version":"1.2.3"},
			"values":{"source":"inline","inline":{"replicas":2}}}}`,
	} {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := made.Create(object, cluster.Write{By: "user"}); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// clientOf returns a client without a cache.
func clientOf(t *testing.T, made *cluster.Cluster, as cluster.Client) client.WithWatch {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(&rest.Config{
		Host: "http://cluster", Transport: made.As(as), QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func reconcilerOf(c client.Client, live client.Reader) *instance.Reconciler {
	return &instance.Reconciler{
		Client: c, ClusterID: func(context.Context) (string, error) { return "berlin", nil }, Now: time.Now,
		Served: func(schema.GroupVersionKind) bool { return true },
		Events: &transition.Recorder{Client: c, Live: live, Reporter: "test", Now: time.Now},
	}
}

var webRequest = reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "prod", Name: "web"}}

// TestLostAnswerOfAStatus: a status that is stored without an answer has its Events all the same, also if the cache
// doesn't have it yet. The outdated status isn't written again.
func TestLostAnswerOfAStatus(t *testing.T) {
	made := stored(t)
	lost, errLost := false, errors.New("connection reset by peer")
	live := clientOf(t, made, cluster.Client{Name: "operator", After: func(r cluster.Request) error {
		if r.Resource == "applicationinstances/status" && !lost {
			lost = true
			return errLost
		}
		return nil
	}})
	var old *unstructured.Unstructured
	cached := interceptor.NewClient(live, interceptor.Funcs{Get: func(
		ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption,
	) error {
		if object, is := into.(*unstructured.Unstructured); is && object.GetKind() == "ApplicationInstance" && old != nil {
			object.Object = old.DeepCopy().Object
			return nil
		}
		return c.Get(ctx, key, into, opts...)
	}})
	reconciler := reconcilerOf(cached, live)
	if _, err := reconciler.Reconcile(t.Context(), webRequest); !errors.Is(err, errLost) {
		t.Fatalf("%v, want the lost answer", err)
	}
	if events := made.List(cluster.Event); len(events) > 0 {
		t.Fatalf("Events are written of a status that may not be stored: %v", events)
	}
	old = made.Get(cluster.Instance, "prod", "web") // the cache has the finalizer, and not the status
	unstructured.RemoveNestedField(old.Object, "status")
	old.SetResourceVersion("1")
	for range 3 {
		if _, err := reconciler.Reconcile(t.Context(), webRequest); err != nil {
			t.Fatal(err)
		}
	}
	said := map[string]int{}
	for _, event := range made.List(cluster.Event) {
		note, _, _ := unstructured.NestedString(event.Object, "note")
		begin, _, _ := strings.Cut(note, ":")
		said[begin]++
		if _, again, _ := unstructured.NestedMap(event.Object, "series"); again {
			said[begin]++
		}
	}
	if said["Ready is Unknown"] != 1 || said["Reconciling is True"] != 1 || len(said) != 2 {
		t.Errorf("Events: %v, want one of each transition", said)
	}
}

// TestRefusedStatus: a refused status stores nothing, so the next reconcile reads the cache, as ever. Without an answer
// it reads the API server. Either way it writes the status, with its Events.
func TestRefusedStatus(t *testing.T) {
	outdated := apierrors.NewConflict(schema.GroupResource{Resource: "applicationinstances"}, "web", errors.New("modified"))
	tests := map[string]struct {
		answer error
		reads  int
	}{
		"another write came first": {outdated, 0},
		"the status is invalid":    {apierrors.NewInvalid(schema.GroupKind{Kind: "ApplicationInstance"}, "web", nil), 0},
		"the operator may not":     {apierrors.NewForbidden(schema.GroupResource{}, "web", errors.New("no")), 0},
		"no answer":                {errors.New("connection reset by peer"), 1},
		"a fault of the server":    {apierrors.NewInternalError(errors.New("etcdserver: request timed out")), 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			made, refused, cached, live := stored(t), 0, 0, 0
			counted := func(reads *int) cluster.Client {
				return cluster.Client{Name: "operator", Before: func(r cluster.Request) error {
					switch {
					case r.Resource == "applicationinstances" && !r.IsWrite():
						*reads++
					case r.Resource == "applicationinstances/status" && refused == 0:
						refused++
						return test.answer
					}
					return nil
				}}
			}
			reconciler := reconcilerOf(clientOf(t, made, counted(&cached)), clientOf(t, made, counted(&live)))
			_, err := reconciler.Reconcile(t.Context(), webRequest)
			if isOutdated := apierrors.IsConflict(test.answer); refused != 1 || (err == nil) != isOutdated {
				t.Fatalf("the status was refused %d times, and the reconcile ends with %v", refused, err)
			}
			if live != 1 || statusOf(made) != nil || len(made.List(cluster.Event)) > 0 {
				t.Fatalf("at first: %d reads from the API server, status %v, Events %v", live, statusOf(made),
					made.List(cluster.Event))
			}
			cached, live = 0, 0
			if _, err := reconciler.Reconcile(t.Context(), webRequest); err != nil {
				t.Fatal(err)
			}
			if live != test.reads || cached == 0 {
				t.Errorf("the instance is read %d times from the API server, want %d, and %d times from the cache", live,
					test.reads, cached)
			}
			if statusOf(made) == nil || len(made.List(cluster.Event)) == 0 {
				t.Errorf("status %v, Events %v", statusOf(made), made.List(cluster.Event))
			}
		})
	}
}

// statusOf returns the status of the instance in a cluster, or nil.
func statusOf(made *cluster.Cluster) any {
	return made.Get(cluster.Instance, "prod", "web").Object["status"]
}
