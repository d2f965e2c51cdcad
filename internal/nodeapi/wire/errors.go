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
	"tend.dev/tend/internal/build/journal"
	"tend.dev/tend/internal/runtime"
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
	{"NoBuild", http.StatusNotFound, journal.ErrNotFound},
	{"NoContainer", http.StatusNotFound, runtime.ErrNotFound},
	{"EngineAway", http.StatusServiceUnavailable, runtime.ErrUnavailable},
	{"Unsupported", http.StatusNotImplemented, runtime.ErrUnsupported},
	{"TooLate", http.StatusGatewayTimeout, context.DeadlineExceeded},
}

// ProblemOf returns an error as it travels.
func ProblemOf(err error) *api.Problem {
	var problem *api.Problem
	if errors.As(err, &problem) {
		return problem
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &api.Problem{Title: k.title, Status: k.status, Detail: err.Error()}
		}
	}
	return &api.Problem{Title: "Failed", Status: http.StatusInternalServerError, Detail: err.Error()}
}

// remoteError is an error with the text of where it happened.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// ErrorOf is ProblemOf's inverse.
func ErrorOf(problem api.Problem) error {
	for _, k := range known {
		if k.title == problem.Title {
			return &remoteError{problem.Detail, k.err}
		}
	}
	return &problem
}

// Answer returns the error that an answer is; nil if it is none.
func Answer(answer *http.Response) error {
	if answer.StatusCode < http.StatusBadRequest {
		return nil
	}
	var problem api.Problem
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxBody)).Decode(&problem); err != nil {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	return ErrorOf(problem)
}
