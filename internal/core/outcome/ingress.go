package outcome

import (
	"cmp"
	"slices"

	"tend.dev/tend/api"
)

// judgeReady returns what has become of an object without containers, by its Ready and Degraded conditions.
func judgeReady(s judged, ready api.Condition, degraded *api.Condition) judged {
	s.Reason, s.Message, s.Next = ready.Reason, cmp.Or(ready.Message, ready.Reason), ready.Next
	switch {
	case ready.Status == api.ConditionTrue:
		s.State = api.OutcomeConverged
	case degraded != nil && degraded.Status == api.ConditionTrue:
		s.State, s.Reason, s.Message, s.Next = api.OutcomeFailed, degraded.Reason, degraded.Message, degraded.Next
	}
	return s
}

// judgeIngress returns what has become of an ingress, by its Ready condition. The ingress is observed already, and
// not being deleted.
func judgeIngress(s judged, ready api.Condition, degraded *api.Condition) judged {
	s.Reason, s.Message, s.Next = ready.Reason, ready.Message, ready.Next
	if degraded != nil && degraded.Status == api.ConditionTrue && ready.Status != api.ConditionTrue {
		s.Message, s.Next = degraded.Message, degraded.Next
	}
	switch {
	case ready.Status == api.ConditionTrue:
		s.State = api.OutcomeConverged
	case ready.Reason == api.ReasonPaused || ready.Reason == api.ReasonMaintenance:
		s.State = api.OutcomeConverged // an operator wants it this way
	case ready.Reason == api.ReasonNoService || ready.Reason == api.ReasonNoReadyPods:
		s.lacks = true // it may still be created
	case ready.Reason == api.ReasonOpening || ready.Reason == api.ReasonCertificatePending: // temporary
	default:
		s.State = api.OutcomeFailed
	}
	return s
}

// giveUpPods ends the waits of ingresses for pods once nothing else is pending. An ingress to a workload scaled to 0 is
// as declared. Existing pods may still get ready, unless another object that the command waits for is in trouble.
func giveUpPods(all []judged) {
	trouble := slices.ContainsFunc(all, func(s judged) bool { return s.State == api.OutcomeFailed || s.State == api.OutcomeHeld })
	for i := range all {
		switch s := &all[i]; {
		case s.State != api.OutcomePending || s.Reason != api.ReasonNoReadyPods:
		case s.idle && slices.ContainsFunc(all, s.leadsToStopped):
			s.State = api.OutcomeConverged
		case trouble:
			s.State = api.OutcomeHeld
		case s.idle:
			s.State = api.OutcomeConverged
		}
	}
}

// leadsToStopped reports whether the workload that the ingress leads to was stopped on purpose.
func (s *judged) leadsToStopped(on judged) bool {
	return on.stopped && on.Ref.Scope == s.Ref.Scope && on.Ref.Name == s.service
}
