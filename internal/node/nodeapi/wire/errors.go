package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/node/runtime"
)

// ErrBadRequest means that a request can't be understood.
var ErrBadRequest = errors.New("bad request")

// known are the errors that keep their identity in transit.
var known = []struct {
	title  string
	status int
	err    error
}{
	{"BadRequest", http.StatusBadRequest, ErrBadRequest},
	{"Forbidden", http.StatusForbidden, node.ErrForbidden},
	{"NoRelease", http.StatusNotFound, node.ErrNoRelease},
	{"NoBlob", http.StatusNotFound, node.ErrNoBlob},
	{"NotConnected", http.StatusServiceUnavailable, node.ErrNotConnected},
	{"NoImage", http.StatusNotFound, node.ErrNoImage},
	{"NoConfig", http.StatusNotFound, node.ErrNoConfig},
	{"NoPod", http.StatusNotFound, node.ErrNoPod},
	{"Paused", http.StatusServiceUnavailable, node.ErrPaused},
	{"NoFile", http.StatusNotFound, fs.ErrNotExist},
	{"NoBuild", http.StatusNotFound, buildlog.ErrNotFound},
	{"NoContainer", http.StatusNotFound, runtime.ErrNotFound},
	{"EngineAway", http.StatusServiceUnavailable, runtime.ErrUnavailable},
	{"InUse", http.StatusConflict, runtime.ErrInUse},
	{"Unsupported", http.StatusNotImplemented, runtime.ErrUnsupported},
	{"TooLate", http.StatusGatewayTimeout, context.DeadlineExceeded},
}

// The titles of errors that carry a reason and a next step.
const (
	rejected  = "Rejected"
	transient = "Transient"
)

// ProblemOf returns an error as it travels. Its status is one of an error, whatever err says.
func ProblemOf(err error) *api.Problem {
	if problem, ok := errors.AsType[*api.Problem](err); ok {
		if problem.Status < http.StatusBadRequest || problem.Status > 599 {
			copied := *problem
			copied.Status, problem = http.StatusBadRequest, &copied
		}
		return problem
	}
	if refusal, ok := errors.AsType[*runtime.RejectedError](err); ok {
		return reasoned(rejected, http.StatusUnprocessableEntity, err, *refusal)
	}
	if passing, ok := errors.AsType[*runtime.TransientError](err); ok {
		return reasoned(transient, http.StatusServiceUnavailable, err, runtime.RejectedError(*passing))
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &api.Problem{Title: k.title, Status: k.status, Detail: err.Error()}
		}
	}
	return &api.Problem{Title: "Failed", Status: http.StatusInternalServerError, Detail: err.Error()}
}

// reasoned keeps the parts of an error beside its text.
func reasoned(title string, status int, err error, parts runtime.RejectedError) *api.Problem {
	return &api.Problem{Title: title, Status: status, Detail: err.Error(), Next: parts.Next,
		Errors: []api.FieldError{{Field: parts.Reason, Detail: parts.Detail}}}
}

// remoteError is an error with the text of where it happened.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// ErrorOf is ProblemOf's inverse. What has no identity of its own is an *api.Problem.
func ErrorOf(problem api.Problem) error {
	for _, k := range known {
		if k.title == problem.Title {
			return &remoteError{problem.Detail, k.err}
		}
	}
	if len(problem.Errors) != 1 {
		return &problem
	}
	parts := runtime.RejectedError{Reason: problem.Errors[0].Field, Detail: problem.Errors[0].Detail, Next: problem.Next}
	switch problem.Title {
	case rejected:
		return &remoteError{problem.Detail, &parts}
	case transient:
		passing := runtime.TransientError(parts)
		return &remoteError{problem.Detail, &passing}
	}
	return &problem
}

// Answer returns the error of an answer; nil if it has none.
func Answer(answer *http.Response) error {
	if answer.StatusCode < http.StatusBadRequest {
		return nil
	}
	var problem api.Problem
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxProblem)).Decode(&problem); err != nil {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	return ErrorOf(problem)
}
