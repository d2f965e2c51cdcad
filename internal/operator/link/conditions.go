package link

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// The reasons of Events that don't come from a condition.
const (
	eventConnected = "ConnectivityConnected"
	eventLost      = "ConnectivityLost"
	eventRotated   = "CredentialRotated"
)

// maxMessage is the maximum length of the message of a condition or an Event.
const maxMessage = 1024

// set sets a condition. Its time changes only if the final status differs from the stored one, however often set is
// called.
func (p *planner) set(kind string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "")
	}
	c := metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: p.Cluster.Generation,
		LastTransitionTime: *at(p.Now),
	}
	if old := meta.FindStatusCondition(p.Cluster.Status.Conditions, kind); old != nil && old.Status == status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	p.unset(kind)
	p.plan.Status.Conditions = append(p.plan.Status.Conditions, c)
	slices.SortFunc(p.plan.Status.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
}

func (p *planner) unset(kind string) {
	meta.RemoveStatusCondition(&p.plan.Status.Conditions, kind)
}

// transitions returns an Event for each condition whose status or reason changed. A condition that is new and good
// causes none.
func transitions(before, after []metav1.Condition) (events []Event) {
	for _, c := range after {
		old := meta.FindStatusCondition(before, c.Type)
		good := metav1.ConditionTrue
		if c.Type == opsv1alpha1.ConditionDisconnected || c.Type == opsv1alpha1.ConditionBufferOverflow {
			good = metav1.ConditionFalse
		}
		if old != nil && old.Status == c.Status && old.Reason == c.Reason {
			continue
		}
		event := Event{Warning: c.Status != good, Reason: c.Reason, Message: c.Type + " is " + string(c.Status), Condition: c}
		if c.Message != "" {
			event.Message += ": " + c.Message
		}
		if changed := old == nil || old.Status != c.Status; c.Type == opsv1alpha1.ConditionConnected && changed {
			switch {
			case c.Status == good:
				event.Reason = eventConnected
			case old != nil:
				event.Reason = eventLost
			}
		}
		event.Message = event.Message[:min(len(event.Message), maxMessage)]
		events = append(events, event)
	}
	return events
}
