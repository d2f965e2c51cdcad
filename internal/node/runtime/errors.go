package runtime

import (
	"errors"
	"fmt"
)

// The errors a runtime returns.
var (
	// ErrNotFound: no such container or image.
	ErrNotFound = errors.New("not found")
	// ErrNameTaken: a container of another task or owner has the name.
	ErrNameTaken = errors.New("container name is taken")
	// ErrInUse: a container is made from the image.
	ErrInUse = errors.New("in use by a container")
	// ErrUnavailable: the engine does not answer; the state of its containers is unknown.
	ErrUnavailable = errors.New("container engine does not answer")
	// ErrOtherImage: the loaded image isn't the expected one.
	ErrOtherImage = errors.New("another image")
	// ErrUnsupported: this runtime doesn't support the call.
	ErrUnsupported = errors.New("not supported by this runtime")
)

// RejectedError is a spec the engine refuses: retrying without a change is useless. Reason is a CamelCase word
// (InvalidMount, PortTaken, ImageNotFound, Unauthorized, …), Detail the engine's message, Next the next step.
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

// TransientError is a failure that may pass without a change of the spec, such as of a registry that is down or a
// transfer that was cut. Its fields have the same meaning as RejectedError's.
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

// CorrectUser is the next step where there is no user, or group, of the name that a manifest gives.
const CorrectUser = "correct `user`, or give a number such as 1000"

// FreePort is the next step while something else holds a port of the host that a manifest asks for.
const FreePort = "stop it, and Tend continues; or change `ports` and apply"

// DiskFull returns the error of an operation for which a machine ("node n1") has no disk space.
func DiskFull(place, operation string) error {
	return &TransientError{Reason: "DiskFull", Detail: operation + " failed: " + place + " has no disk space left",
		Next: FreeSpace(place) + "; Tend retries"}
}

// FreeSpace returns the next step while the disk of a machine is full.
func FreeSpace(place string) string { return "free space on " + place + " (tend system prune)" }
