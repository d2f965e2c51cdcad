package outcome

import (
	"cmp"
	"encoding/json"
	"strings"

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
		s.State, s.Reason, s.Message = api.OutcomeFailed, degraded.Reason, degraded.Message
		s.Next = again(degraded.Next, "tend run "+s.Ref.Scope+"/"+s.Ref.Name)
	default:
		s.Reason, s.Message = api.ReasonRunSucceeded, "it has run"
	}
}

// again adds to a step the command that runs what failed once more, which no apply does.
func again(step, command string) string {
	if step == "" || strings.Contains(step, command) {
		return step
	}
	return step + "; to run it again: " + command
}

// runsItself reports whether an object is a job that runs each of its releases by itself.
func runsItself(object api.Object) bool {
	var spec struct {
		RunOnRelease bool `json:"run_on_release"`
	}
	return object.Kind == api.KindJob && json.Unmarshal(object.Spec, &spec) == nil && spec.RunOnRelease
}
