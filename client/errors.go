package client

import (
	"errors"
	"fmt"
	"net/http"

	"tend.dev/tend/api"
)

// UnreachableError is a server that doesn't answer.
type UnreachableError struct {
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no server answers at %s: %v\n  start one with `tend server`, or say where it is with --server or TEND_SERVER", e.Server, e.Err)
}

// Unwrap is the network's own error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// StatusOf is the HTTP status of a server's problem, 0 for any other error.
func StatusOf(err error) int {
	var problem *api.Problem
	if errors.As(err, &problem) {
		return problem.Status
	}
	return 0
}

// IsNotFound says whether what was asked for does not exist.
func IsNotFound(err error) bool { return StatusOf(err) == http.StatusNotFound }

// IsConflict says whether the store holds something that is in the way, be it for a moment.
func IsConflict(err error) bool { return StatusOf(err) == http.StatusConflict }

// IsGone says whether a watch can't go on from where it was: list again.
func IsGone(err error) bool { return StatusOf(err) == http.StatusGone }
