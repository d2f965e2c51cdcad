package fault

import (
	"context"
	"errors"
	"sync"
)

// Options configure the points. With the zero value every call passes.
type Options struct {
	// Crash is the name of the point to crash at. Empty means no crash.
	Crash string
	// At is the number of the hit to crash at, from 1. Default 1.
	At int
	// Trace is called with the name of every point hit before the crash, in order, one at a time. It must not hit a point.
	Trace func(name string)
	// CrashWhen is called at every point before the crash. The server crashes if it returns true. It must not hit a point.
	CrashWhen func(name string) bool
	// Kill ends the process and doesn't return. Default: the process continues, and the decorators simulate the crash by
	// refusing every call.
	Kill func()
}

// Points are the failpoints of one life of a server. A nil *Points has no failpoints. It is safe for concurrent use.
type Points struct {
	opts Options
	// life ends at the crash, and every call and stream in flight with it.
	life context.Context
	end  context.CancelCauseFunc

	mu   sync.Mutex
	hits int
}

// New returns the points of a server that is about to start. A restarted server needs new ones.
func New(opts Options) *Points {
	opts.At = max(opts.At, 1)
	p := &Points{opts: opts}
	p.life, p.end = context.WithCancelCause(context.Background())
	return p
}

// Hit records a hit of a point. It returns ErrCrashed if the server crashes here or has crashed before.
func (p *Points) Hit(name string) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.dead(); err != nil {
		return err
	}
	if p.opts.Trace != nil {
		p.opts.Trace(name)
	}
	if !p.crashesLocked(name) {
		return nil
	}
	if p.opts.Kill != nil {
		p.opts.Kill()
	}
	p.end(ErrCrashed)
	return ErrCrashed
}

func (p *Points) crashesLocked(name string) bool {
	if p.opts.CrashWhen != nil && p.opts.CrashWhen(name) {
		return true
	}
	if p.opts.Crash == "" || name != p.opts.Crash {
		return false
	}
	p.hits++
	return p.hits >= p.opts.At
}

// End crashes the server between two points, as a kill from outside does.
func (p *Points) End() { p.end(ErrCrashed) }

// Crashed returns a channel that is closed at the crash. For nil points it is nil.
func (p *Points) Crashed() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.life.Done()
}

func (p *Points) dead() error { return context.Cause(p.life) }

// call runs one call between its two points. A crash of another call meanwhile cancels this one, as the death of its
// process would: the next process must find out whether it took effect.
func (p *Points) call(ctx context.Context, point string, f func(ctx context.Context) error) error {
	if err := p.Hit(point + ".before"); err != nil {
		return err
	}
	ctx, release := p.mortal(ctx)
	defer release()
	if err := f(ctx); err != nil {
		return p.outcome(err)
	}
	return p.Hit(point + ".after")
}

// outcome returns the caller's error. After the crash every error becomes ErrCrashed.
func (p *Points) outcome(err error) error {
	if err == nil || errors.Is(err, ErrCrashed) {
		return err
	}
	if dead := p.dead(); dead != nil {
		return dead
	}
	return err
}

// mortal returns a context that also ends at the crash. Release it, or end its parent.
func (p *Points) mortal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(p.life, func() { cancel(ErrCrashed) })
	context.AfterFunc(ctx, func() { forget() })
	return ctx, func() { cancel(nil) }
}
