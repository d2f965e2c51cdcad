package reconciler

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The errors of the queue itself.
var (
	// ErrDeadline means that a reconcile took longer than its deadline and was cancelled.
	ErrDeadline = errors.New("reconcile deadline passed")
	// ErrStopping means that the controller stopped and its drain time was over; it is the context's cause of a
	// cancelled reconcile.
	ErrStopping = errors.New("controller is stopping")
	// ErrRunning means that Run was called a second time.
	ErrRunning = errors.New("controller ran already: make a new one")
)

// StuckError names what was still running when Run or a Group gave up waiting for it.
type StuckError struct {
	Name string
	Keys []Key // empty if a whole member of a Group is stuck
}

func (e *StuckError) Error() string {
	if len(e.Keys) == 0 {
		return fmt.Sprintf("stop %s: it does not return", e.Name)
	}
	names := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		names[i] = key.String()
	}
	return fmt.Sprintf("stop %s: reconciles ignore their cut context: %s", e.Name, strings.Join(names, ", "))
}

// cutError keeps the error that the reconcile returned when it was cancelled at its deadline.
type cutError struct {
	after time.Duration
	cause error
}

func (e *cutError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("reconcile cut after %s", e.after)
	}
	return fmt.Sprintf("reconcile cut after %s: %v", e.after, e.cause)
}

// Unwrap omits the cause: a terminal error of a cancelled reconcile is not to be trusted.
func (e *cutError) Unwrap() error { return ErrDeadline }
