package cli

import (
	"fmt"

	"tend.dev/tend/api"
)

// judgeAfter notes how the commands went that follow a rollout. They are waited for; one that failed is told of, and undoes
// nothing.
func (s *seen) judgeAfter(status api.WorkloadStatus) {
	after := api.FindCondition(status.Conditions, api.ConditionAfterRollout)
	switch {
	case after == nil:
	case after.Status == api.ConditionUnknown && after.Reason == "RunningPostCommand":
		s.follows = after.Message
	case after.Status == api.ConditionFalse:
		s.warning = after.Message
	}
}

// warnOf tells of what a person should know though nothing is waited for any more.
func (a *app) warnOf(looks []seen) {
	for _, s := range looks {
		if s.warning != "" && s.outcome == converged {
			fmt.Fprintf(a.err, "warning: %s: %s\n", s.ref, printable(s.warning, "\n"))
		}
	}
}
