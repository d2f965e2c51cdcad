package workload

import (
	"errors"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/environment"
)

// UnworkableError says why a deployment can't be reconciled until a person changes something. The release in force
// stays.
type UnworkableError struct {
	Ref    api.Ref
	Reason string
	Cause  error
	// Next is what to do about it.
	Next string
	// Passing is set if what is missing is on its way and no action is needed.
	Passing bool
}

func (e *UnworkableError) Error() string { return fmt.Sprintf("%s: %v: %s", e.Ref, e.Cause, e.Next) }

// Unwrap returns the cause.
func (e *UnworkableError) Unwrap() error { return e.Cause }

// withoutEnvironment wraps the reason why there is no environment in an UnworkableError.
func withoutEnvironment(ref api.Ref, err error) error {
	var without *environment.Error
	if !errors.As(err, &without) {
		return err
	}
	return &UnworkableError{Ref: ref, Reason: without.Reason, Cause: without.Cause, Next: without.Next, Passing: without.Passing}
}
