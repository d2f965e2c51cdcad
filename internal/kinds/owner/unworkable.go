package owner

import (
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/environment"
)

// UnworkableError is the reason why an object can't be reconciled until a person changes something. The release in
// force stays, and running tasks go on. There is no automatic retry: the next write of the object, or of what its
// environment is made of, causes the next attempt.
type UnworkableError struct {
	Ref    api.Ref
	Reason string
	Cause  error
	// Next is the next step.
	Next string
	// Passing is set if what is missing is on its way and no action is needed.
	Passing bool
}

func (e *UnworkableError) Error() string { return fmt.Sprintf("%s: %v: %s", e.Ref, e.Cause, e.Next) }

// Unwrap returns the cause.
func (e *UnworkableError) Unwrap() error { return e.Cause }

// InvalidSpec returns the UnworkableError of an object whose stored manifest can't be read.
func InvalidSpec(ref api.Ref, cause error) *UnworkableError {
	return &UnworkableError{Ref: ref, Reason: api.ReasonInvalidSpec, Cause: cause, Next: "apply a corrected manifest"}
}

// WithoutEnvironment wraps the reason why there is no environment in an *UnworkableError. Other errors are returned as
// they are.
func WithoutEnvironment(ref api.Ref, err error) error {
	var without *environment.Error
	if !errors.As(err, &without) {
		return err
	}
	return &UnworkableError{Ref: ref, Reason: without.Reason, Cause: without.Cause, Next: without.Next,
		Passing: without.Passing}
}

// Conditions adds the refusal to the conditions of an object. ready is the message of its condition Ready.
func (e *UnworkableError) Conditions(conditions []api.Condition, ready string, now time.Time) []api.Condition {
	progressing := api.ConditionFalse
	if e.Passing {
		progressing = api.ConditionTrue
	}
	for _, c := range []api.Condition{
		{Type: api.ConditionReady, Status: api.ConditionFalse, Message: ready},
		{Type: api.ConditionProgressing, Status: progressing},
		{Type: api.ConditionDegraded, Status: api.ConditionTrue, Message: e.Cause.Error(), Next: e.Next},
	} {
		c.Reason = e.Reason
		conditions = api.SetCondition(conditions, c, now)
	}
	return conditions
}
