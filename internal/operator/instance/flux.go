package instance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fluxObject reads Flux's status of one of its objects, which may be absent.
type fluxObject struct{ *unstructured.Unstructured }

func (f fluxObject) absent() bool { return f.Unstructured == nil }

func (f fluxObject) deleting() bool { return !f.absent() && f.GetDeletionTimestamp() != nil }

// lags reports whether Flux has not seen the object's current spec.
func (f fluxObject) lags() bool {
	if f.absent() {
		return false
	}
	observed, _, _ := unstructured.NestedInt64(f.Object, "status", "observedGeneration")
	return observed < f.GetGeneration()
}

// condition returns a condition for the object's current spec, or one without a status if there is none. A condition
// for an older generation doesn't count.
func (f fluxObject) condition(kind string) metav1.Condition {
	if f.absent() {
		return metav1.Condition{}
	}
	observed, _, _ := unstructured.NestedInt64(f.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(f.Object, "status", "conditions")
	for _, one := range conditions {
		values, _ := one.(map[string]any)
		if values["type"] != kind {
			continue
		}
		generation, ok := values["observedGeneration"].(int64)
		if !ok || generation == 0 {
			generation = observed
		}
		// Flux ignores a suspended object, and so never sees the generation with the suspension.
		if generation < f.GetGeneration() && !f.suspended() {
			return metav1.Condition{}
		}
		text := func(key string) string { value, _ := values[key].(string); return value }
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message")}
	}
	return metav1.Condition{}
}

// status returns a text of the status, or an empty one.
func (f fluxObject) status(path ...string) string {
	if f.absent() {
		return ""
	}
	text, _, _ := unstructured.NestedString(f.Object, append([]string{"status"}, path...)...)
	return text
}

// installed reports whether a release was ever installed: its history has a deployed revision.
func (f fluxObject) installed() bool {
	if f.absent() {
		return false
	}
	history, _, _ := unstructured.NestedSlice(f.Object, "status", "history")
	for _, one := range history {
		values, _ := one.(map[string]any)
		if values["status"] == "deployed" || values["status"] == "superseded" {
			return true
		}
	}
	return false
}

// phase returns installing for a release that was never installed, and otherwise upgrading.
func (f fluxObject) phase(installing, upgrading string) string {
	if f.installed() {
		return upgrading
	}
	return installing
}

// suspended reports whether Flux must leave the object alone.
func (f fluxObject) suspended() bool {
	if f.absent() {
		return false
	}
	suspend, _, _ := unstructured.NestedBool(f.Object, "spec", "suspend")
	return suspend
}
