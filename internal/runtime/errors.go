package runtime

import (
	"errors"
	"fmt"
)

// The errors a runtime answers with.
var (
	// ErrNotFound: no such container or image.
	ErrNotFound = errors.New("not found")
	// ErrNameTaken: a container that is not the task's own holds the name.
	ErrNameTaken = errors.New("container name is taken")
	// ErrInUse: a container is made from the image.
	ErrInUse = errors.New("in use by a container")
	// ErrUnavailable: the engine does not answer; nothing can be said of its containers.
	ErrUnavailable = errors.New("container engine does not answer")
	// ErrUnsupported: this runtime can't do what was asked.
	ErrUnsupported = errors.New("not supported by this runtime")
)

// RejectedError is a spec the engine refuses: trying again without a change is useless. Reason is a CamelCase word
// (InvalidMount, PortTaken, ImageNotFound, Unauthorized, …), Detail the engine's own words, Next the step that helps.
type RejectedError struct {
	Reason string
	Detail string
	Next   string
}

func (e *RejectedError) Error() string {
	if e.Next != "" {
		return fmt.Sprintf("%s (%s)", e.Detail, e.Next)
	}
	return e.Detail
}

// TransientError is a failure that may pass without a change of the spec: a registry that is down, a transfer that was
// cut. Its fields read like RejectedError's.
type TransientError struct {
	Reason string
	Detail string
	Next   string
}

func (e *TransientError) Error() string {
	if e.Next != "" {
		return fmt.Sprintf("%s (%s)", e.Detail, e.Next)
	}
	return e.Detail
}
