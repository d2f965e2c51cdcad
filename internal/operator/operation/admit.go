package operation

import (
	"errors"

	"tend.dev/tend/internal/core/approval"
)

// Admit returns why an operation must not be stored, or nil and what it will wait for, if anything. It doesn't refuse
// an operation for something that may change by itself, such as the end of another operation.
func Admit(in Input) (waits string, refused error) {
	if in.Denied != nil {
		return "", in.Denied
	}
	if err := Validate(in.Operation); err != nil {
		return "", err
	}
	d := &decision{Input: in, op: in.Operation}
	if given := in.Operation.Spec.Approvals; given != nil && given.Claim != "" {
		if err := d.verify(given.Claim); err != nil && !errors.Is(err, approval.ErrNoSecret) {
			return "", err
		}
	}
	if found := d.obstacle(); found != nil {
		return found.message, nil
	}
	return "", nil
}
