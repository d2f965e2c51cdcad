package fault

import (
	"context"
	"errors"
	"sync"
)

// Options set what happens at the points. The zero value lets everything pass.
type Options struct {
	// Crash is the name of the point to crash at; empty is none.
	Crash string
	// At is the hit to crash at, from 1. Default 1.
	At int
	// Trace is called with the name of every point hit before the crash, in order, one at a time. It must not hit a
	// point.
	Trace func(name string)
	// CrashWhen is called at every point before the crash, and ends the server if it returns true. It must not hit a
	// point.
	CrashWhen func(name string) bool
	// Kill ends the process and doesn't return. Default: the crash is simulated within the process, where the
	// decorators let nothing through any more.
	Kill func()
}

// Points are the failpoints of one server's life. Nil means no failpoints. They are safe for concurrent use.
type Points struct {
	opts Options
	// life ends with the crash, and with it every call and stream in flight.
	life context.Context
	end  context.CancelCauseFunc

	mu   sync.Mutex
	hits int
}

// New returns the points of a server that is about to start. A server that is started again needs new ones.
func New(opts Options) *Points {
	opts.At = max(opts.At, 1)
	p := &Points{opts: opts}
	p.life, p.end = context.WithCancelCause(context.Background())
	return p
}

// Hit hits a point. It returns ErrCrashed if the server dies here, or did already.
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

// End ends the server between two points, as a kill from outside does.
func (p *Points) End() { p.end(ErrCrashed) }

// Crashed returns a channel that is closed at the crash; for nil points it never is.
func (p *Points) Crashed() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.life.Done()
}

func (p *Points) dead() error { return context.Cause(p.life) }

// call runs one call between its two points. If another call crashes meanwhile, this one is cancelled, as by the death
// of its process: the next process must find out whether it took effect.
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

// outcome returns the error for the caller: after the crash, any error becomes ErrCrashed.
func (p *Points) outcome(err error) error {
	if err == nil || errors.Is(err, ErrCrashed) {
		return err
	}
	if dead := p.dead(); dead != nil {
		return dead
	}
	return err
}

// mortal returns a context that ends with the server too. Release it, or end its parent.
func (p *Points) mortal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(p.life, func() { cancel(ErrCrashed) })
	context.AfterFunc(ctx, func() { forget() })
	return ctx, func() { cancel(nil) }
}
