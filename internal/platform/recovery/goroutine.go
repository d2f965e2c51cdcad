package recovery

import (
	"context"
	"errors"
	"sync"
	"time"

	"tend.dev/tend/internal/platform/delay"
)

// The pause before Keep runs a function again doubles from the first to the last.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// Go runs fn in a goroutine of its own. If fn panics the goroutine ends and the process continues.
func Go(fn func()) { go once(fn) }

func once(fn func()) {
	_ = Call(func() error { fn(); return nil }) // logged and counted
}

// AfterFunc is time.AfterFunc for a function that may panic.
func AfterFunc(d time.Duration, fn func()) *time.Timer {
	return time.AfterFunc(d, func() { once(fn) })
}

// Group is a sync.WaitGroup whose goroutines may panic. The zero value is ready to use.
type Group struct{ wait sync.WaitGroup }

// Go runs fn like the function Go; Wait waits for its end.
func (g *Group) Go(fn func()) { g.wait.Go(func() { once(fn) }) }

// Wait waits until every goroutine of the group has ended.
func (g *Group) Wait() { g.wait.Wait() }

// Keep runs fn and returns its error. After a panic it runs fn again, until ctx ends: then it returns nil.
func Keep(ctx context.Context, fn func(context.Context) error, attrs ...any) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := Call(func() error { return fn(ctx) }, attrs...)
		if _, ok := errors.AsType[*PanicError](err); !ok {
			return err
		}
		if delay.For(ctx, pause) != nil {
			return nil //nolint:nilerr // it was asked to end
		}
	}
}
