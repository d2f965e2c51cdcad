package reconciler

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Key names what to reconcile. Name alone is enough if a kind has no scopes (tasks, nodes).
type Key struct{ Kind, Scope, Name string }

// String returns kind/scope/name.
func (k Key) String() string { return k.Kind + "/" + k.Scope + "/" + k.Name }

// LogValue implements slog.LogValuer.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Reconciler reconciles a key: it reads the current state and does the smallest thing that closes the difference.
type Reconciler interface {
	Reconcile(ctx context.Context, key Key) (Result, error)
}

// Func adapts a function to a Reconciler.
type Func func(ctx context.Context, key Key) (Result, error)

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, key Key) (Result, error) { return f(ctx, key) }

// Result is the outcome of a reconcile that did not fail.
type Result struct {
	// After requeues the key after this long, however long that is. 0 means done until the next event.
	After time.Duration
	// Unfinished says that what it began goes on without it, such as a pull, and comes back as an event: whether it
	// succeeds isn't known yet, so the key's failures still count.
	Unfinished bool
	// Revision is the newest revision the reconcile committed: the key is not reconciled again before the view has it.
	Revision int64
}

// Terminal marks an error only the user can fix: it is logged and not retried until the next event.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

// IsTerminal reports whether an error was marked by Terminal.
func IsTerminal(err error) bool {
	var terminal *terminalError
	return errors.As(err, &terminal)
}

type terminalError struct{ error }

func (e *terminalError) Unwrap() error { return e.error }
