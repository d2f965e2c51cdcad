package job

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/core/timetable"
)

// UnworkableError says that an object can't be reconciled until a person changes it. Its running tasks go on.
type UnworkableError struct {
	Ref   api.Ref
	Cause error
}

func (e *UnworkableError) Error() string {
	return fmt.Sprintf("%s: read its manifest: %v", e.Ref, e.Cause)
}

// Unwrap returns the cause.
func (e *UnworkableError) Unwrap() error { return e.Cause }

// refusedEnv turns the reason why there is no environment into a reason to start nothing. Other errors are returned as
// they are.
func refusedEnv(err error, now time.Time) (*timetable.Refusal, error) {
	var without *environment.Error
	if !errors.As(err, &without) {
		return nil, err
	}
	return &timetable.Refusal{Reason: without.Reason, Message: without.Cause.Error(), Next: without.Next, At: now}, nil
}

// againstOf returns the object's own part of a request's nonce.
func againstOf(nonce string) string {
	own, _, _ := strings.Cut(nonce, nonceMark)
	return own
}
