//go:build kube

package link_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/operator/kubetest"
)

// delivered returns a world with an application that Tend reports as ready.
func delivered(t *testing.T) (*world, api.Object) {
	t.Helper()
	w := newWorld(t)
	w.connect()
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	w.installs()
	w.tend.says("ready", object, isReady(1, "HelmReleaseReady"))
	return w, object
}

// is returns a check for a condition's status and reason.
func is(kind string, want api.ConditionStatus, reason string) func(api.DeliveredStatus) bool {
	return func(status api.DeliveredStatus) bool {
		c := api.FindCondition(status.Conditions, kind)
		return c != nil && c.Status == want && c.Reason == reason
	}
}

// patch changes the instance as `kubectl patch` does.
func (w *world) patch(merge string) {
	w.Helper()
	instance := &unstructured.Unstructured{}
	instance.SetGroupVersionKind(applicationInstance)
	instance.SetNamespace(w.namespace)
	instance.SetName("web")
	if err := w.user.Patch(
		w.Context(), instance, client.RawPatch(types.MergePatchType, []byte(merge)), client.FieldOwner("kubectl-patch"),
	); err != nil {
		w.Fatal(err)
	}
}

// collect deletes the objects that a deleted instance owned. It stands in for the garbage collector, which doesn't run
// here.
func (w *world) collect() {
	w.Helper()
	for kind, name := range map[schema.GroupVersionKind]string{helmRelease: "web", ociRepository: "web-source"} {
		live, err := w.get(w.Context(), kind, name)
		if err == nil {
			err = w.user.Delete(w.Context(), live)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// version returns the chart version of the instance in the cluster.
func (w *world) version(ctx context.Context) (string, error) {
	live, err := w.get(ctx, applicationInstance, "web")
	if err != nil {
		return "", err
	}
	version, _, _ := unstructured.NestedString(live.Object, "spec", "chart", "version")
	return version, nil
}

// TestDeletedInTheClusterComesBack: Tend notices `kubectl delete` and undoes it, even if the operator didn't run
// meanwhile.
func TestDeletedInTheClusterComesBack(t *testing.T) {
	for name, asleep := range map[string]bool{"seen": false, "missed": true} {
		t.Run(name, func(t *testing.T) {
			w, object := delivered(t)
			first, err := w.get(t.Context(), applicationInstance, "web")
			if err != nil {
				t.Fatal(err)
			}
			if asleep {
				w.stop()
				w.patch(`{"metadata":{"finalizers":null}}`) // as if the operator had ended after its last step
			}
			if err := w.user.Delete(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			if asleep {
				w.collect()
				w.operate()
			}
			kubetest.Eventually(t, "another instance", func(ctx context.Context) error {
				live, err := w.get(ctx, applicationInstance, "web")
				if err == nil && live.GetUID() == first.GetUID() {
					err = fmt.Errorf("it is the one that was deleted")
				}
				return err
			})
			w.tend.says("not ready before Flux has spoken of it", object, func(status api.DeliveredStatus) bool { return !isReady(1, "HelmReleaseReady")(status) })
			w.installs()
			w.tend.says("ready again", object, isReady(1, "HelmReleaseReady"))
		})
	}
}

// TestChangedInTheClusterIsTakenBack: a patched field gets its declared value again.
func TestChangedInTheClusterIsTakenBack(t *testing.T) {
	w, object := delivered(t)
	w.patch(`{"spec":{"chart":{"version":"2.0.0"}}}`)
	kubetest.Eventually(t, "the declared version", func(ctx context.Context) error {
		if version, err := w.version(ctx); err != nil || version != "1.0.1" || w.applies() < 2 {
			return fmt.Errorf("version %s, %d applies: %w", version, w.applies(), err)
		}
		return nil
	})
	w.fetched("1.0.1")
	w.installs()
	w.tend.says("ready again", object, isReady(1, "HelmReleaseReady"))
}

// TestDriftIsOnlyReportedInTend: with drift set to report, nothing is applied; Tend shows what differs and who changed
// it.
func TestDriftIsOnlyReportedInTend(t *testing.T) {
	w, object := delivered(t)
	object.Metadata.Annotations = map[string]string{api.AnnotationDrift: api.DriftReport}
	w.tend.put(object)
	w.patch(`{"spec":{"chart":{"version":"2.0.0"}}}`)
	w.tend.says("drifted", object, func(status api.DeliveredStatus) bool {
		return is(api.ConditionReady, api.ConditionFalse, api.ReasonDrifted)(status) && len(status.Differences) == 1 &&
			status.Differences[0].Field == "spec.chart.version" && status.Differences[0].Manager == "kubectl-patch" &&
			strings.Contains(status.Differences[0].Live, "2.0.0")
	})
	if version, err := w.version(t.Context()); err != nil || version != "2.0.0" {
		t.Errorf("version %s, %v: it was taken back", version, err)
	}
}

// TestADeletionThatTendOrderedIsNotFought: an object that Tend deletes stays deleted.
func TestADeletionThatTendOrderedIsNotFought(t *testing.T) {
	w, object := delivered(t)
	w.deletes(object)
	if _, err := w.get(t.Context(), applicationInstance, "web"); !apierrors.IsNotFound(err) {
		t.Errorf("the instance is there: %v", err)
	}
}
