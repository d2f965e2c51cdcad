package instance

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/identity"
)

func TestAdmit(t *testing.T) {
	values := func(text string) func(*appsv1alpha1.ApplicationInstance) {
		return func(i *appsv1alpha1.ApplicationInstance) {
			i.Spec.Values.Inline = &runtime.RawExtension{Raw: []byte(text)}
		}
	}
	tests := map[string]struct {
		reason string
		change func(*appsv1alpha1.ApplicationInstance)
		denied *bounds.RefusalError
		want   string
	}{
		"fine":    {reason: "nothing is wrong"},
		"policy":  {reason: "the operator may not", denied: &bounds.RefusalError{Reason: bounds.NotManaged, Message: "it lacks the label"}, want: "NotManaged: it lacks the label"},
		"secret":  {reason: "a password in the values is read by whoever reads the object", change: values(`{"db":{"password":"hunter2"}}`), want: "db.password"},
		"name":    {reason: "a Secret's name may be public", change: values(`{"existingSecret":"postgres-credentials"}`)},
		"list":    {reason: "values are an object", change: values(`[1]`), want: "spec.values.inline must be an object"},
		"nothing": {reason: "null doesn't count as a value", change: values(`null`)},
		"Secret": {reason: "values from a Secret are not looked into", change: func(i *appsv1alpha1.ApplicationInstance) {
			i.Spec.Values = &appsv1alpha1.Values{
				Source: appsv1alpha1.ValuesSecret, SecretRef: &appsv1alpha1.KeyRef{Name: "s", Key: "k"},
			}
		}},
		"elsewhere": {reason: "a release is in its instance's namespace", change: func(i *appsv1alpha1.ApplicationInstance) {
			i.Spec.Release.Namespace = "other"
		}, want: "spec: release.namespace is other: it must be prod"},
		"window": {reason: "a window that can't be read would hold every change up", change: func(i *appsv1alpha1.ApplicationInstance) {
			i.Annotations = map[string]string{identity.AnnotationMaintenanceWindow: "Sunday at night"}
		}, want: "ops.vworkspace.io/maintenance-window is invalid"},
		"placeholder": {reason: "a placeholder has no chart", change: func(i *appsv1alpha1.ApplicationInstance) {
			i.Spec = appsv1alpha1.ApplicationInstanceSpec{Mode: appsv1alpha1.ModePlaceholder}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			instance := web()
			if test.change != nil {
				test.change(instance)
			}
			switch err := Admit(instance, test.denied); {
			case test.want == "" && err != nil:
				t.Errorf("%s: refused: %v", test.reason, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s: %v, want %q", test.reason, err, test.want)
			}
		})
	}
}

// TestAdmitUpdate: a stored object that is invalid is refused only if a change concerns the rules. The validator has no
// client: a read of the namespace would panic.
func TestAdmitUpdate(t *testing.T) {
	const declared, bad = identity.AnnotationMaintenanceWindow, "Sunday at night"
	annotated := func(annotations map[string]string) *appsv1alpha1.ApplicationInstance {
		instance := web()
		instance.Annotations, instance.Spec.Release.Namespace = annotations, "other"
		return instance
	}
	deleted := annotated(map[string]string{declared: bad})
	deleted.DeletionTimestamp, deleted.Spec.Chart.Version = &metav1.Time{Time: noon}, "2.0.0"
	tests := map[string]struct {
		before, after *appsv1alpha1.ApplicationInstance
		want          string
	}{
		"another annotation":   {annotated(map[string]string{declared: bad}), annotated(map[string]string{declared: bad, "a": "b"}), ""},
		"a window, bad":        {annotated(nil), annotated(map[string]string{declared: bad}), "is invalid"},
		"a window, empty":      {annotated(nil), annotated(map[string]string{declared: ""}), "is invalid"},
		"a window, good":       {annotated(map[string]string{declared: bad}), annotated(map[string]string{declared: `{schedule: "@daily", duration: 1h}`}), ""},
		"the window goes":      {annotated(map[string]string{declared: bad}), annotated(nil), ""},
		"it is being deleted":  {annotated(nil), deleted, ""},
		"nothing at all":       {annotated(nil), annotated(nil), ""},
		"a status of the same": {annotated(nil), statusOf(annotated(nil)), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := (&validator{}).ValidateUpdate(t.Context(), test.before, test.after)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func statusOf(instance *appsv1alpha1.ApplicationInstance) *appsv1alpha1.ApplicationInstance {
	instance.Status.ObservedGeneration = 7
	return instance
}
