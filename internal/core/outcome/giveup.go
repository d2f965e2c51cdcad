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
	stopped := map[workload]bool{}
	for i := range all {
		if all[i].stopped {
			stopped[workload{all[i].Ref.Scope, all[i].Ref.Name}] = true
		}
	}
	for i := range all {
		switch s := &all[i]; {
		case s.State != api.OutcomePending || s.Reason != api.ReasonNoReadyPods:
		case s.idle && stopped[workload{s.Ref.Scope, s.service}]:
			s.State = api.OutcomeConverged
		case trouble:
			s.State = api.OutcomeHeld
		case s.idle:
			s.State = api.OutcomeConverged
		}
	}
}

// workload is the scope and the name of the workload that an ingress leads to.
type workload struct{ scope, name string }
