package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

var errBadRequest = errors.New("bad request")

// known are the errors that keep their identity in transit.
var known = []struct {
	title  string
	status int
	err    error
}{
	{"BadRequest", http.StatusBadRequest, errBadRequest},
	{"Forbidden", http.StatusForbidden, node.ErrForbidden},
	{"NoRelease", http.StatusNotFound, node.ErrNoRelease},
	{"NoBlob", http.StatusNotFound, node.ErrNoBlob},
	{"NoFile", http.StatusNotFound, fs.ErrNotExist},
}

func problemOf(err error) *api.Problem {
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &api.Problem{Title: k.title, Status: k.status, Detail: err.Error()}
		}
	}
	return &api.Problem{Title: "Failed", Status: http.StatusInternalServerError, Detail: err.Error()}
}

// remoteError is an error with its server's text.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// errorOf is problemOf's inverse.
func errorOf(answer *http.Response) error {
	var problem api.Problem
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxReport)).Decode(&problem); err != nil {
		return fmt.Errorf("the server answered %s", answer.Status)
	}
	for _, k := range known {
		if k.title == problem.Title {
			return &remoteError{problem.Detail, k.err}
		}
	}
	return &problem
}
