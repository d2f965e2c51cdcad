package clusterjob

import "tend.dev/tend/api"

// The conditions of an operation. Those that end it have the name of the phase that it has then.
const (
	operationSucceeded = api.OperationSucceeded
	operationFailed    = api.DeliveredFailed
	operationCancelled = api.OperationCancelled
	operationRunning   = api.OperationRunning
)

// Ended returns the phase of an operation that has ended, by the conditions of its resource; of any other it is empty.
// A replication with a schedule has succeeded while it runs on, and after it was cancelled or has failed.
func Ended(conditions []api.Condition) string {
	is := func(conditionType string) bool {
		c := api.FindCondition(conditions, conditionType)
		return c != nil && c.Status == api.ConditionTrue
	}
	switch {
	case is(operationCancelled):
		return operationCancelled
	case is(operationFailed):
		return operationFailed
	case is(operationSucceeded) && !is(operationRunning):
		return operationSucceeded
	}
	return ""
}

// ended returns the phase of an operation that has ended. It is final: neither the loss of its resource nor a later
// delivery changes it. The phase of everything else is empty, also while only another operation of the name ended.
func (in Input) ended() string {
	if in.Object.Kind != api.KindOperation || in.Report == nil || in.Report.AppliedJob == "" {
		return ""
	}
	return Ended(in.others())
}

// success completes the condition Ready of an operation: whether it has succeeded. One that failed or was cancelled has
// not, although a replication with a schedule had succeeded before.
func (in Input) success(c api.Condition) api.Condition {
	for _, reported := range in.Report.Conditions {
		if reported.Type == operationSucceeded {
			c.Status, c.Reason, c.Message = reported.Status, reported.Reason, reported.Message
		}
	}
	if end := in.failed(); end != nil {
		c.Status, c.Reason, c.Message = api.ConditionFalse, end.Reason, end.Message
	}
	return c
}

// failed returns the condition by which an operation ended without success; nil if it didn't.
func (in Input) failed() *api.ReportedCondition {
	switch end := in.ended(); end {
	case operationFailed, operationCancelled:
		return in.reported(end, api.ConditionTrue)
	}
	return nil
}

// failing completes the condition Degraded of an operation: it failed, was cancelled before it succeeded, or fails and
// is repeated.
func (in Input) failing(c api.Condition) api.Condition {
	cause := in.failed()
	switch {
	case cause == nil:
		if cause = in.reported(api.ConditionDegraded, api.ConditionTrue); cause == nil {
			return c
		}
	case in.ended() == operationCancelled && in.reported(operationSucceeded, api.ConditionTrue) != nil:
		return c // a replication with a schedule ends like this
	default:
		c.Next = doneOnce
	}
	c.Status, c.Reason, c.Message = api.ConditionTrue, cause.Reason, cause.Message
	return c
}

// step returns the reason and the message of what an operation that has not succeeded waits for or does.
func (in Input) step(ready api.Condition) (reason, message string) {
	if blocked := in.reported(reportedBlocked, api.ConditionTrue); blocked != nil {
		return blocked.Reason, blocked.Message
	}
	if running := in.reported(operationRunning, api.ConditionTrue); running != nil {
		return running.Reason, running.Message
	}
	return ready.Reason, ready.Message
}
