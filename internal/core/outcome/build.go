package outcome

import "tend.dev/tend/api"

// judgeBuild makes the object of a job wait for its image: a failed build should be known before the job is to run.
func (s *judged) judgeBuild(ready, progressing *api.Condition) {
	switch {
	case !s.Built || ready == nil || progressing == nil:
	case progressing.Status == api.ConditionTrue:
		s.State, s.Reason, s.Message = api.OutcomePending, progressing.Reason, progressing.Message
	case ready.Status == api.ConditionFalse:
		s.State, s.Reason, s.Message = api.OutcomeFailed, ready.Reason, ready.Message
	}
}
