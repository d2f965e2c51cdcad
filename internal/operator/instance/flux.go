package instance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fluxObject reads what Flux says in the status of one of its objects, which may be absent.
type fluxObject struct{ *unstructured.Unstructured }

func (f fluxObject) absent() bool { return f.Unstructured == nil }

func (f fluxObject) deleting() bool { return !f.absent() && f.GetDeletionTimestamp() != nil }

// lags returns whether Flux has not seen the object's present spec.
func (f fluxObject) lags() bool {
	if f.absent() {
		return false
	}
	observed, _, _ := unstructured.NestedInt64(f.Object, "status", "observedGeneration")
	return observed < f.GetGeneration()
}

// condition returns a condition that is of the object's present spec; a condition without a status if there is none. A
// condition of an older generation says nothing of the present one.
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
		if generation < f.GetGeneration() && !f.suspended() { // Flux leaves what is suspended alone, and its suspension is a generation
			return metav1.Condition{}
		}
		text := func(key string) string { value, _ := values[key].(string); return value }
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message")}
	}
	return metav1.Condition{}
}

// status returns a text of the status; "" if there is none.
func (f fluxObject) status(path ...string) string {
	if f.absent() {
		return ""
	}
	text, _, _ := unstructured.NestedString(f.Object, append([]string{"status"}, path...)...)
	return text
}

// installed returns whether a release was ever installed: the history has one that was deployed.
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

// phase returns one of two reasons: of a release that was never installed, and of one that was.
func (f fluxObject) phase(installing, upgrading string) string {
	if f.installed() {
		return upgrading
	}
	return installing
}

// suspended returns whether Flux is asked to leave the object alone.
func (f fluxObject) suspended() bool {
	if f.absent() {
		return false
	}
	suspend, _, _ := unstructured.NestedBool(f.Object, "spec", "suspend")
	return suspend
}
