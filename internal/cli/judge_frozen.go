package cli

import (
	"fmt"

	"tend.dev/tend/api"
)

// reasonFrozen is the Ready reason of a workload with pods that `tend stop` stopped.
const reasonFrozen = "Frozen"

// judgeFrozen ends the wait for a workload that was stopped on purpose: no apply starts it, so waiting would never end.
// The command succeeds and says how to start it.
func (s *seen) judgeFrozen(status api.WorkloadStatus, ready, progressing *api.Condition) {
	if ready == nil || ready.Reason != reasonFrozen || progressing == nil || progressing.Status != api.ConditionFalse || s.gone {
		return
	}
	what := fmt.Sprintf("%d of its pods stay", status.Frozen)
	if status.Frozen == 1 {
		what = "1 of its pods stays"
	}
	if ready.Status == api.ConditionFalse {
		s.outcome, s.stopped, what = converged, true, "it stays"
	}
	s.warning = fmt.Sprintf("%s stopped, as `tend stop` asked; `tend start %s/%s` starts it again", what, s.ref.Scope, s.ref.Name)
}
