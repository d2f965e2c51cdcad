//go:build kube

package instance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

// gate opens or closes the namespace for operators.
func (w *world) gate(open bool) {
	w.Helper()
	namespace := &corev1.Namespace{}
	if err := w.user.Get(w.Context(), client.ObjectKey{Name: w.namespace}, namespace); err != nil {
		w.Fatal(err)
	}
	delete(namespace.Labels, identity.LabelNamespaceGate)
	if open {
		namespace.Labels[identity.LabelNamespaceGate] = identity.NamespaceGate
	}
	if err := w.user.Update(w.Context(), namespace); err != nil {
		w.Fatal(err)
	}
}

// TestNamespaceGate: in a namespace without the label nothing is created, and the instance says why. The label opens
// the namespace without a restart. When the label is removed, installed applications stay and can be deleted.
func TestNamespaceGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kubetest.Shared())
	w.gate(false)
	w.operate()
	w.web()
	w.says("Blocked=True/PolicyDenied", "Ready=False/PolicyDenied")
	for _, write := range w.writes() {
		if write.Resource != "applicationinstances" || write.Subresource != "status" {
			t.Errorf("a write in a namespace that is closed: %+v", write)
		}
	}

	w.gate(true)
	w.exists(helmRelease, "web")
	w.installs("Ready=True/InstallSucceeded", "Released=True/InstallSucceeded")
	w.says("Ready=True/HelmReleaseReady", "Blocked=False/Unblocked")

	w.gate(false)
	w.says("Ready=True/HelmReleaseReady", "Blocked=True/PolicyDenied")
	instance, err := w.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	instance.Spec.Chart.Version = "1.3.0"
	if err := w.user.Update(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	w.says("Blocked=True/PolicyDenied", "Ready=False/PolicyDenied") // for the current generation: only the one before is ready
	if source, err := w.get(t.Context(), ociRepository, "web-source"); err != nil || fmt.Sprint(source.Object["spec"]) == "" {
		t.Errorf("the source: %v %v", source, err)
	} else if tag := source.Object["spec"].(map[string]any)["ref"].(map[string]any)["tag"]; tag != "1.2.3" {
		t.Errorf("the source has become %v", tag)
	}

	if err := w.user.Delete(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(w, "end of the instance", func(ctx context.Context) error {
		if _, err := w.instance(ctx); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there: %w", err)
		}
		return nil
	})
}

// TestDeniedIsSaidOnce: whichever rule refuses an instance, nothing is created, reconciles after the first one write
// nothing, and it is installed once the rule is met.
func TestDeniedIsSaidOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy bounds.Policy
		labels map[string]string
		closed bool
		want   string
		allow  bounds.Policy
	}{
		"namespace": {closed: true, want: "kubectl label namespace", allow: bounds.Policy{AnyNamespace: true}},
		"chart": {policy: bounds.Policy{Charts: []string{"oci://registry.example.org/chart"}}, want: "--chart-allow",
			allow: bounds.Policy{Charts: []string{"oci://registry.example.org/charts"}}},
		"manager": {policy: bounds.Policy{RequireManagedBy: true}, want: identity.LabelManagedBy},
		"cluster": {labels: map[string]string{identity.LabelClusterID: "paris"}, want: "paris"},
	} {
		w := newWorld(t, kubetest.Shared())
		w.gate(!test.closed)
		w.web()
		w.label(test.labels)
		reconciler, request := w.direct(kubetest.Survive)
		reconciler.Policy = test.policy
		for range 3 {
			if _, err := reconciler.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		if writes := w.writes(); len(writes) != 1 || writes[0].Resource != "applicationinstances" || writes[0].Subresource != "status" {
			t.Errorf("%s: three reconciles sent %+v, want one write of the status", name, writes)
		}
		instance, err := w.instance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c := meta.FindStatusCondition(instance.Status.Conditions, "Blocked"); c == nil || !strings.Contains(c.Message, test.want) {
			t.Errorf("%s: Blocked is %+v, want a message with %q", name, c, test.want)
		}
		w.label(map[string]string{identity.LabelClusterID: "berlin", identity.LabelManagedBy: identity.ManagedBy})
		reconciler.Policy = test.allow
		if _, err := reconciler.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		w.exists(helmRelease, "web")
	}
}

// label sets labels of the instance.
func (w *world) label(labels map[string]string) {
	w.Helper()
	instance, err := w.instance(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	instance.Labels = labels
	if err := w.user.Update(w.Context(), instance); err != nil {
		w.Fatal(err)
	}
}
