package operation

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// Event is a transition of a condition, for people.
type Event struct {
	// Warning says that something is wrong.
	Warning bool
	// Reason is Operation and the condition's type, with Not between them if the condition is no longer true.
	Reason string
	// Message begins with the condition's reason.
	Message string
}

// transitions returns an event for each condition that became true, stopped to be true, or is true for another reason.
func transitions(before, after []metav1.Condition) []Event {
	var events []Event
	for _, now := range after {
		was := meta.FindStatusCondition(before, now.Type)
		isTrue, wasTrue := now.Status == metav1.ConditionTrue, was != nil && was.Status == metav1.ConditionTrue
		event := Event{Reason: "Operation" + now.Type, Message: now.Reason + ": " + now.Message}
		if now.Message == "" {
			event.Message = now.Reason
		}
		switch {
		case isTrue && (!wasTrue || was.Reason != now.Reason):
			event.Warning = now.Type == opsv1alpha1.ConditionFailed || now.Type == opsv1alpha1.ConditionBlocked
		case !isTrue && wasTrue:
			event.Reason = "OperationNot" + now.Type
		default:
			continue
		}
		events = append(events, event)
	}
	return events
}
