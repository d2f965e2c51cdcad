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

// ReasonInvalidSpec: the stored manifest can't be read by this version of Tend.
const ReasonInvalidSpec = "InvalidSpec"

// UnworkableError says that an object can't be worked on until a person changes it. What runs of it goes on.
type UnworkableError struct {
	Ref   api.Ref
	Cause error
}

func (e *UnworkableError) Error() string {
	return fmt.Sprintf("%s: read its manifest: %v", e.Ref, e.Cause)
}

// Unwrap gives the cause.
func (e *UnworkableError) Unwrap() error { return e.Cause }

// refusedEnv makes a reason to have no environment a reason to start nothing; other errors stay what they are.
func refusedEnv(err error, now time.Time) (*timetable.Refusal, error) {
	var without *environment.Error
	if !errors.As(err, &without) {
		return nil, err
	}
	return &timetable.Refusal{Reason: without.Reason, Message: without.Cause.Error(), Next: without.Next, At: now}, nil
}

// againstOf is the object's own part of a request's nonce.
func againstOf(nonce string) string {
	own, _, _ := strings.Cut(nonce, nonceMark)
	return own
}
