//go:build kube

package instance_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestMaintenanceWindowHoldsAChange: a change of the spec is applied when the window opens and not before. The
// reconcile requests to be repeated at that time.
func TestMaintenanceWindowHoldsAChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.web()
	reconciler, request := w.direct(kubetest.Survive)
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC) // a Wednesday
	reconciler.Now = func() time.Time { return now }
	after := func() time.Duration {
		t.Helper()
		result, err := reconciler.Reconcile(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	tag := func() string {
		t.Helper()
		source, err := w.get(t.Context(), ociRepository, "web-source")
		if err != nil {
			t.Fatal(err)
		}
		tag, _, _ := unstructured.NestedString(source.Object, "spec", "ref", "tag")
		return tag
	}
	after()
	kubetest.Eventually(t, "edit", func(ctx context.Context) error {
		instance, err := w.instance(ctx)
		if err != nil {
			return err
		}
		instance.Annotations = map[string]string{identity.AnnotationMaintenanceWindow: `{schedule: "0 2 * * 0", duration: 2h, timeZone: Europe/Berlin}`}
		instance.Spec.Chart.Version = "2.0.0"
		return w.user.Update(ctx, instance)
	})
	wait := after()
	if want := 85 * time.Hour; wait != want || tag() != "1.2.3" {
		t.Errorf("before the window: the tag is %s, again after %s, want 1.2.3 and %s", tag(), wait, want)
	}
	w.says("Suspended=True/MaintenanceWindow")
	written := len(w.writes())
	if after(); len(w.writes()) != written {
		t.Errorf("the next reconcile in the wait writes %+v", w.writes()[written:])
	}
	now = now.Add(wait)
	if again := after(); again != 0 || tag() != "2.0.0" {
		t.Errorf("in the window: the tag is %s, again after %s, want 2.0.0 and never", tag(), again)
	}
	w.says("Suspended=False/Active")
}
