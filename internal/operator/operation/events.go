package operation

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/transition"
)

// EventsOf returns the events that led to an operation's current conditions.
func EventsOf(conditions []metav1.Condition) []transition.Event { return transitions(nil, conditions) }

// warnings are the conditions whose events are warnings while they are true.
var warnings = []string{opsv1alpha1.ConditionFailed, opsv1alpha1.ConditionBlocked, opsv1alpha1.ConditionDegraded}

// transitions returns an event for each condition that is new, or whose status or reason changed. The event's reason is
// Operation, followed by Not if the condition is not true, and the condition's type.
func transitions(before, after []metav1.Condition) []transition.Event {
	var events []transition.Event
	for _, now := range after {
		was := meta.FindStatusCondition(before, now.Type)
		isTrue := now.Status == metav1.ConditionTrue
		if was != nil && was.Status == now.Status && was.Reason == now.Reason {
			continue
		}
		event := transition.Event{Reason: "OperationNot" + now.Type, Message: now.Reason, Condition: now}
		if isTrue {
			event.Reason = "Operation" + now.Type
			event.Warning = slices.Contains(warnings, now.Type)
		}
		if now.Message != "" {
			event.Message = shorten(now.Reason + ": " + now.Message)
		}
		events = append(events, event)
	}
	return events
}
