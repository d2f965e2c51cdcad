package workload

import (
	"errors"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/environment"
)

// ReasonInvalidSpec: the stored spec can't be read by this version of Tend. The reasons that an object has no environment
// are those of internal/control/environment.
const ReasonInvalidSpec = "InvalidSpec"

// UnworkableError says why a deployment can't be worked on until a person changes something. What is in force stays so.
type UnworkableError struct {
	Ref    api.Ref
	Reason string
	Cause  error
	// Next is what to do about it.
	Next string
	// Passing: what is missing is on its way, and nobody has to do anything.
	Passing bool
}

func (e *UnworkableError) Error() string { return fmt.Sprintf("%s: %v: %s", e.Ref, e.Cause, e.Next) }

// Unwrap gives the cause.
func (e *UnworkableError) Unwrap() error { return e.Cause }

// withoutEnvironment makes an UnworkableError of a reason to have no environment.
func withoutEnvironment(ref api.Ref, err error) error {
	var without *environment.Error
	if !errors.As(err, &without) {
		return err
	}
	return &UnworkableError{Ref: ref, Reason: without.Reason, Cause: without.Cause, Next: without.Next, Passing: without.Passing}
}
