package watcher

import (
	"context"
	"log/slog"
	"time"

	"tend.dev/tend/internal/core/watch"
)

// The time between two polls: the default, and its bounds.
const (
	DefaultInterval = 5 * time.Second
	MinInterval     = 100 * time.Millisecond
	MaxInterval     = 24 * time.Hour
)

// DefaultTimeout bounds a listing.
const DefaultTimeout = 5 * time.Minute

// Options are the options of a Watcher. List, Facts and Clone are required.
type Options[T any] struct {
	// Name is the watcher's label in metrics and logs.
	Name string
	// List returns all objects that the selector chooses; more than these do no harm. An error means that nothing is
	// known: it must not return the part that it could read.
	List func(ctx context.Context, selector watch.Selector) ([]T, error)
	// Facts returns what changes are found by.
	Facts func(T) watch.Facts
	// Clone returns a deep copy. The cache and each handler have their own, so a change that one makes hides none from
	// another.
	Clone func(T) T
	// Selector chooses objects. Default all.
	Selector watch.Selector
	// Interval is the time between the end of a poll and the next. Default DefaultInterval; it is kept within its
	// bounds.
	Interval time.Duration
	// Backoff is the longest time between polls while listings fail: each failure doubles the time. Default Interval,
	// so that it stays the same.
	Backoff time.Duration
	// Timeout bounds a listing. Default DefaultTimeout.
	Timeout time.Duration
	// Polled is called after each poll, once the handlers have run, with the listing's error. Default: no call.
	Polled func(err error)
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

func (o Options[T]) withDefaults() Options[T] {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	o.Interval = min(max(o.Interval, MinInterval), MaxInterval)
	o.Backoff = max(o.Backoff, o.Interval)
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Polled == nil {
		o.Polled = func(error) {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Logger = o.Logger.With("watcher", o.Name)
	return o
}
