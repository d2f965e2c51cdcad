package outcome

import (
	"fmt"

	"tend.dev/tend/api"
)

// judgeFrozen ends the wait for a workload that was stopped on purpose: no apply starts it, so waiting would never end.
// The command succeeds and says how to start it.
func (s *judged) judgeFrozen(status api.WorkloadStatus, ready, progressing *api.Condition) {
	if ready == nil || ready.Reason != api.ReasonFrozen || progressing == nil || progressing.Status != api.ConditionFalse || s.Gone {
		return
	}
	what := fmt.Sprintf("%d of its pods stay", status.Frozen)
	if status.Frozen == 1 {
		what = "1 of its pods stays"
	}
	if ready.Status == api.ConditionFalse {
		s.State, s.stopped, what = api.OutcomeConverged, true, "it stays"
	}
	s.Warning = fmt.Sprintf("%s stopped, as `tend stop` asked; `tend start %s/%s` starts it again", what, s.Ref.Scope, s.Ref.Name)
}
