package instance

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// web returns a managed instance with its finalizer, at generation 2.
func web() *appsv1alpha1.ApplicationInstance {
	return &appsv1alpha1.ApplicationInstance{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: "web", UID: "u-1", Generation: 2, Finalizers: []string{identity.FinalizerInstance},
		},
		Spec: appsv1alpha1.ApplicationInstanceSpec{
			AppRef: appsv1alpha1.AppRef{CatalogID: "web"}, Mode: appsv1alpha1.ModeManaged,
			Chart:   &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceOCI, URL: "oci://registry.example.org/charts/", Name: "web", Version: "1.2.3+5"},
			Release: &appsv1alpha1.Release{Name: "web", Namespace: "prod"},
			Values:  &appsv1alpha1.Values{Source: appsv1alpha1.ValuesInline, Inline: &runtime.RawExtension{Raw: []byte(`{"replicas":2,"a":{"b":1.5,"c":[1,"x"]}}`)}},
		},
	}
}

// applied returns the instance's children after an apply, each with a UID, and with Flux's status if given.
func applied(t *testing.T, instance *appsv1alpha1.ApplicationInstance, release, source map[string]any) *Observed {
	t.Helper()
	observed := &Observed{ClusterID: "berlin"}
	children, err := desired(instance, observed)
	if err != nil {
		t.Fatal(err)
	}
	for i, status := range []map[string]any{source, release} {
		live := children[i].DeepCopy()
		live.SetUID("live")
		live.SetGeneration(3)
		if status != nil {
			live.Object["status"] = status
		}
		observed.Children = append(observed.Children, live)
	}
	return observed
}

// flux returns a status with conditions, given as type=status/reason, for the object's current generation.
func flux(conditions ...string) map[string]any { return fluxAt(3, conditions...) }

func fluxAt(generation int64, conditions ...string) map[string]any {
	list := []any{}
	for _, text := range conditions {
		kind, rest, _ := strings.Cut(text, "=")
		status, reason, _ := strings.Cut(rest, "/")
		list = append(list, map[string]any{"type": kind, "status": status, "reason": reason, "message": "flux says " + reason, "observedGeneration": generation})
	}
	return map[string]any{"observedGeneration": generation, "conditions": list}
}

func installed(status map[string]any) map[string]any {
	status["history"] = []any{map[string]any{"version": int64(1), "status": "deployed"}}
	return status
}

func attempted(status map[string]any, version, digest string) map[string]any {
	status["lastAttemptedRevision"], status["lastAttemptedRevisionDigest"] = version, digest
	return status
}

func artifact(status map[string]any, revision string) map[string]any {
	status["artifact"] = map[string]any{"revision": revision}
	return status
}

// conditions returns a status's conditions as type=status/reason, sorted by type.
func conditions(status appsv1alpha1.ApplicationInstanceStatus) string {
	var parts []string
	for _, c := range status.Conditions {
		parts = append(parts, c.Type+"="+string(c.Status)+"/"+c.Reason)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
