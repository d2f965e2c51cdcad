package engine

import (
	"context"
	"errors"
	"time"
)

// Key names what to look at. Name alone is enough where a kind has no scopes (tasks, nodes).
type Key struct{ Kind, Scope, Name string }

// String is kind/scope/name.
func (k Key) String() string { return k.Kind + "/" + k.Scope + "/" + k.Name }

// Reconciler looks at a key and does the smallest thing that closes the difference.
type Reconciler interface {
	Reconcile(ctx context.Context, key Key) (Result, error)
}

// Func makes a function a Reconciler.
type Func func(ctx context.Context, key Key) (Result, error)

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, key Key) (Result, error) { return f(ctx, key) }

// Result is the outcome of a reconcile that did not fail.
type Result struct {
	// After asks for another look after this long, at most 60 s at a time. 0 is done until the next event.
	After time.Duration
	// Revision is the newest revision the reconcile committed: the key is not looked at again before the view has it.
	Revision int64
}

// Terminal marks an error only the user can mend: it is logged and not retried until the next event.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

// IsTerminal says whether an error was marked by Terminal.
func IsTerminal(err error) bool {
	var terminal *terminalError
	return errors.As(err, &terminal)
}

type terminalError struct{ error }

func (e *terminalError) Unwrap() error { return e.error }
