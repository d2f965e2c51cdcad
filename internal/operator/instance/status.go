package instance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// finish computes the status and the events from the plan's conditions. A condition's time changes with its status, and
// the status's own time with any field: an equal status keeps its time.
func (p *planner) finish(now time.Time) {
	at := metav1.NewTime(now.UTC().Truncate(time.Second)) // the stored form
	old := p.instance.Status.Conditions
	for _, c := range p.conditions {
		c.LastTransitionTime = at
		meta.SetStatusCondition(&p.result.Status.Conditions, c)
		stored := meta.FindStatusCondition(p.result.Status.Conditions, c.Type) // with the time that eventsOf finds
		if event, ok := eventOf(meta.FindStatusCondition(old, c.Type), *stored); ok {
			p.result.Events = append(p.result.Events, event)
		}
	}
	slices.SortFunc(p.result.Status.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	p.keepHealth()
	if changed(p.instance.Status, p.result.Status) {
		p.result.Status.LastReconcileTime = &at
	}
}

func sorted(status appsv1alpha1.ApplicationInstanceStatus) appsv1alpha1.ApplicationInstanceStatus {
	status.Conditions = slices.Clone(status.Conditions)
	slices.SortFunc(status.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return status
}

// eventsOf returns the events that led to the given conditions. Those that are the oldest were the first ones.
func eventsOf(conditions []metav1.Condition) (events []Event) {
	if len(conditions) == 0 {
		return nil
	}
	first := slices.MinFunc(conditions, func(a, b metav1.Condition) int {
		return a.LastTransitionTime.Compare(b.LastTransitionTime.Time)
	}).LastTransitionTime
	for _, c := range conditions {
		before := &metav1.Condition{}
		if c.LastTransitionTime.Equal(&first) {
			before = nil
		}
		if event, ok := eventOf(before, c); ok {
			events = append(events, event)
		}
	}
	return events
}

// eventOf returns the event of a condition that is new, or whose status or reason changed. A new instance has none
// about what it never had.
func eventOf(old *metav1.Condition, c metav1.Condition) (Event, bool) {
	bad := c.Type == appsv1alpha1.ConditionDegraded || c.Type == appsv1alpha1.ConditionBlocked
	positive := c.Type == appsv1alpha1.ConditionReady
	if old != nil && old.Status == c.Status && old.Reason == c.Reason ||
		old == nil && !positive && c.Status == metav1.ConditionFalse {
		return Event{}, false
	}
	message := fmt.Sprintf("%s is %s", c.Type, c.Status)
	if c.Message != "" {
		message += ": " + c.Message
	}
	warning := bad && c.Status == metav1.ConditionTrue || positive && c.Status == metav1.ConditionFalse
	return Event{Warning: warning, Reason: c.Reason, Message: limit(message, 1024), Condition: c}, true
}

// limit cuts a text that is too long for Kubernetes at a whole character.
func limit(text string, most int) string {
	const end = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(end)], "") + end
}
