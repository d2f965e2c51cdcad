package job

import (
	"errors"
	"strings"
	"time"

	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/core/timetable"
)

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
