package cli

import (
	"slices"

	"tend.dev/tend/api"
)

// judgeIngress returns the state of a wait for an ingress, by its Ready condition. The ingress is observed already, and
// not being deleted.
func judgeIngress(s seen, ready api.Condition, degraded *api.Condition) seen {
	s.reason, s.message = ready.Reason, ready.Message
	if degraded != nil && degraded.Status == api.ConditionTrue && ready.Status != api.ConditionTrue {
		s.message, s.next = degraded.Message, degraded.Next
	}
	switch {
	case ready.Status == api.ConditionTrue:
		s.outcome = converged
	case ready.Reason == "Paused" || ready.Reason == "Maintenance":
		s.outcome = converged // an operator wants it this way
	case ready.Reason == "NoService" || ready.Reason == noReadyPods:
		s.lacks = true // it may still be created
	case ready.Reason == "Opening" || ready.Reason == "CertificatePending": // temporary
	default:
		s.outcome = failed
	}
	return s
}

// noReadyPods is the reason of an ingress without a ready pod.
const noReadyPods = "NoReadyPods"

// giveUpPods ends the waits of ingresses for pods once nothing else is pending. An ingress to a workload scaled to 0 is
// as declared. Existing pods may still get ready, unless another object that the command waits for is in trouble.
func giveUpPods(looks []seen) {
	trouble := slices.ContainsFunc(looks, func(s seen) bool { return s.outcome == failed || s.outcome == held })
	for i := range looks {
		switch s := &looks[i]; {
		case s.outcome != pending || s.reason != noReadyPods:
		case s.idle && slices.ContainsFunc(looks, s.leadsToStopped):
			s.outcome = converged
		case trouble:
			s.outcome = held
		case s.idle:
			s.outcome = converged
		}
	}
}

// leadsToStopped reports whether the workload that the ingress leads to was stopped on purpose.
func (s *seen) leadsToStopped(on seen) bool {
	return on.stopped && on.ref.Scope == s.ref.Scope && on.ref.Name == s.service
}
