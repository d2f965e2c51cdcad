package outcome

import (
	"slices"

	"tend.dev/tend/api"
)

// giveUp ends the waits for missing references once nothing else is pending: no other object is known to provide them.
func giveUp(all []judged) {
	giveUpDependents(all)
	if slices.ContainsFunc(all, func(s judged) bool { return s.State == api.OutcomePending && !s.lacks }) {
		return
	}
	for i := range all {
		if all[i].lacks && all[i].Reason != api.ReasonNoReadyPods {
			all[i].State = api.OutcomeFailed
		}
	}
	giveUpPods(all)
}

// giveUpPods ends the waits of ingresses for pods once nothing else is pending. An ingress to a workload scaled to 0 is
// as declared. Existing pods may still get ready, unless another object that the command waits for is in trouble.
func giveUpPods(all []judged) {
	trouble := slices.ContainsFunc(all, func(s judged) bool {
		return s.State == api.OutcomeFailed ||
			s.State == api.OutcomeHeld
	})
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
