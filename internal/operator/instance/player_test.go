//go:build kube

package instance_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/kubetest"
)

var (
	helmRelease   = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	ociRepository = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}
)

// world is a namespace of a server, with a client for a user and one for Flux.
type world struct {
	*testing.T
	server    *kubetest.Server
	namespace string
	// user writes instances, flux writes statuses.
	user, flux client.Client
}

func newWorld(t *testing.T, server *kubetest.Server) *world {
	return &world{T: t, server: server, namespace: server.Namespace(t), user: server.Client(t, "user"), flux: server.Client(t, "helm-controller")}
}

// agent returns the operator's user agent in this world.
func (w *world) agent() string { return "operator-of-" + w.namespace }

// operate runs an operator for this namespace until stop is called or the test ends.
func (w *world) operate() (stop func()) {
	w.Helper()
	made, err := operator.NewManager(w.server.As(w.agent()), operator.Options{
		Namespace: w.namespace, Watched: w.namespace, ClusterID: "berlin", Retry: 50 * time.Millisecond,
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); stopped {
			return
		}
		stopped = true
		if err := <-ended; err != nil {
			w.Errorf("the operator ended: %v", err)
		}
	}
	w.Cleanup(stop)
	return stop
}

// web creates an instance with an OCI chart.
func (w *world) web() {
	w.Helper()
	instance := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":"apps.vworkspace.io/v1alpha1","kind":"ApplicationInstance","metadata":{"namespace":%[1]q,"name":"web"},"spec":{
		"appRef":{"catalogId":"web"},"release":{"name":"web","namespace":%[1]q},
		"chart":{"sourceType":"oci","url":"oci://registry.example.org/charts","name":"web","version":"1.2.3"},
		"values":{"source":"inline","inline":{"replicas":2,"ratio":1.0,"nothing":null,"list":[{"a":1}],"empty":{}}}}}`, w.namespace)
	if err := instance.UnmarshalJSON([]byte(text)); err != nil {
		w.Fatal(err)
	}
	if err := w.user.Create(w.Context(), instance); err != nil {
		w.Fatal(err)
	}
}

// get reads an object of this namespace.
func (w *world) get(
	ctx context.Context, kind schema.GroupVersionKind, name string,
) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind)
	return live, w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, live)
}

// instance reads the instance.
func (w *world) instance(ctx context.Context) (*appsv1alpha1.ApplicationInstance, error) {
	instance := &appsv1alpha1.ApplicationInstance{}
	return instance, w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "web"}, instance)
}

// exists waits until an object exists.
func (w *world) exists(kind schema.GroupVersionKind, name string) {
	w.Helper()
	kubetest.Eventually(w, kind.Kind+" "+name, func(ctx context.Context) error {
		_, err := w.get(ctx, kind, name)
		return err
	})
}

// says waits until the instance has the conditions, given as type=status/reason, for its current spec.
func (w *world) says(conditions ...string) {
	w.Helper()
	kubetest.Eventually(w, "conditions of the instance", func(ctx context.Context) error {
		instance, err := w.instance(ctx)
		if err != nil {
			return err
		}
		for _, want := range conditions {
			kind, state, _ := strings.Cut(want, "=")
			c := meta.FindStatusCondition(instance.Status.Conditions, kind)
			if c == nil || string(c.Status)+"/"+c.Reason != state || c.ObservedGeneration != instance.Generation {
				return fmt.Errorf("want %s of generation %d, have %+v", want, instance.Generation, instance.Status.Conditions)
			}
		}
		return nil
	})
}

// play writes an object's status as Flux's controllers do: through the status subresource, replacing all conditions,
// each with the generation that it describes. lag is the number of generations that Flux is behind. The real
// controllers were observed to do the same.
func (w *world) play(kind schema.GroupVersionKind, name string, lag int64, conditions ...string) {
	w.Helper()
	kubetest.Recorded(w, kind.Kind, conditions...)
	kubetest.Eventually(w, "status of "+kind.Kind, func(ctx context.Context) error {
		live, err := w.get(ctx, kind, name)
		if err != nil {
			return err
		}
		generation, list := live.GetGeneration()-lag, []any{}
		for _, text := range conditions {
			kind, rest, _ := strings.Cut(text, "=")
			status, reason, _ := strings.Cut(rest, "/")
			list = append(list, map[string]any{
				"type": kind, "status": status, "reason": reason, "message": "flux says " + reason, "observedGeneration": generation,
				"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
			})
		}
		status, _, _ := unstructured.NestedMap(live.Object, "status")
		if status == nil {
			status = map[string]any{}
		}
		status["conditions"], status["observedGeneration"] = list, generation
		w.chart(ctx, live, status)
		live.Object["status"] = status
		return w.flux.Status().Update(ctx, live) // retried after a conflict
	})
}

// chart makes a source report the fetched artifact, and a release the artifact it was made from.
func (w *world) chart(ctx context.Context, live *unstructured.Unstructured, status map[string]any) {
	w.Helper()
	if live.GroupVersionKind() == ociRepository {
		tag, _, _ := unstructured.NestedString(live.Object, "spec", "ref", "tag")
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(tag)))
		status["artifact"] = map[string]any{
			"revision": tag + "@" + digest, "digest": digest, "path": "p", "url": "http://source/p", "lastUpdateTime": "2026-11-25T12:00:00Z",
		}
		return
	}
	source, err := w.get(ctx, ociRepository, "web-source")
	if err != nil {
		w.Fatal(err)
	}
	revision, _, _ := unstructured.NestedString(source.Object, "status", "artifact", "revision")
	if tag, digest, ok := strings.Cut(revision, "@"); ok {
		status["lastAttemptedRevision"], status["lastAttemptedRevisionDigest"] = tag+"+"+digest[len("sha256:"):][:12], digest
	}
}

// installs makes Flux fetch the chart and report conditions of the release.
func (w *world) installs(conditions ...string) {
	w.Helper()
	w.play(ociRepository, "web-source", 0, "ArtifactInStorage=True/Succeeded", "Ready=True/Succeeded")
	w.play(helmRelease, "web", 0, conditions...)
}

// writes returns the operator's writes in this namespace, without Events.
func (w *world) writes() []kubetest.Write {
	return w.server.Writes(w, func(write kubetest.Write) bool {
		return write.Agent == w.agent() && write.Namespace == w.namespace && write.Resource != "events"
	})
}
