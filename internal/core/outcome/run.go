package outcome

import (
	"cmp"
	"encoding/json"

	"tend.dev/tend/api"
)

// judgeRun makes the object of a job that runs by itself wait for the run of its newest release: an apply has not come to
// its end before.
func (s *judged) judgeRun(object api.Object, status api.WorkloadStatus, ready, progressing *api.Condition) {
	if !runsItself(object) || ready == nil || progressing == nil {
		return
	}
	degraded := api.FindCondition(status.Conditions, api.ConditionDegraded)
	switch {
	case progressing.Status == api.ConditionTrue:
		s.State, s.Reason, s.Message = api.OutcomePending, progressing.Reason, cmp.Or(progressing.Message, ready.Message)
		s.needs = needs(object, *progressing)
	case ready.Status == api.ConditionFalse:
		s.State, s.Reason, s.Message = api.OutcomeFailed, ready.Reason, ready.Message
		if degraded != nil && degraded.Status == api.ConditionTrue {
			s.Message, s.Next = degraded.Message, degraded.Next
		}
	case degraded != nil && degraded.Reason == api.ReasonRunFailed:
		s.State, s.Reason, s.Message, s.Next = api.OutcomeFailed, degraded.Reason, degraded.Message, degraded.Next
	default:
		s.Reason, s.Message = api.ReasonRunSucceeded, "it has run"
	}
}

// runsItself reports whether an object is a job that runs each of its releases by itself.
func runsItself(object api.Object) bool {
	var spec struct {
		RunOnRelease bool `json:"run_on_release"`
	}
	return object.Kind == api.KindJob && json.Unmarshal(object.Spec, &spec) == nil && spec.RunOnRelease
}
