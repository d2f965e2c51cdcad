package cli

import (
	"slices"

	"tend.dev/tend/api"
)

// judgeIngress says where a wait for an ingress stands, by its Ready condition: what has been seen already, and isn't
// being deleted.
func judgeIngress(s seen, ready api.Condition, degraded *api.Condition) seen {
	s.reason, s.message = ready.Reason, ready.Message
	if degraded != nil && degraded.Status == api.ConditionTrue && ready.Status != api.ConditionTrue {
		s.message, s.next = degraded.Message, degraded.Next
	}
	switch {
	case ready.Status == api.ConditionTrue:
		s.outcome = converged
	case ready.Reason == "Paused" || ready.Reason == "Maintenance":
		s.outcome = converged // an operator wants it so
	case ready.Reason == "NoService" || ready.Reason == noReadyPods:
		s.lacks = true // it may be on its way
	case ready.Reason == "Opening" || ready.Reason == "CertificatePending": // that passes
	default:
		s.outcome = failed
	}
	return s
}

// noReadyPods is the reason of an ingress none of whose pods gets requests.
const noReadyPods = "NoReadyPods"

// giveUpPods ends the waits of ingresses for pods once nothing else is waited for. Whoever declared an ingress to what is
// scaled to 0 has what was declared; pods that are there may get ready yet, unless what else was waited for is in trouble.
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
