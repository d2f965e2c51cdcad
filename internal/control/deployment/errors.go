package deployment

import (
	"fmt"

	"tend.dev/tend/api"
)

// The reasons a deployment can't be worked on as it is stored.
const (
	// ReasonInvalidSpec: the stored spec can't be read by this version of Tend.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonEnvironmentUnreadable: a config value can't be decrypted.
	ReasonEnvironmentUnreadable = "EnvironmentUnreadable"
)

// UnworkableError says why a deployment can't be worked on until a person changes something. Its tasks are left as they are.
type UnworkableError struct {
	Ref    api.Ref
	Reason string
	Cause  error
	// Next is what to do about it.
	Next string
}

func (e *UnworkableError) Error() string { return fmt.Sprintf("%s: %s", e.Ref, e.say()) }

// Unwrap gives the cause.
func (e *UnworkableError) Unwrap() error { return e.Cause }

func (e *UnworkableError) say() string { return fmt.Sprintf("%v: %s", e.Cause, e.Next) }
