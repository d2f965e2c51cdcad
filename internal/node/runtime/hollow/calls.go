package hollow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// Stop implements runtime.Runtime. The stop continues if the caller's context ends, as docker's does.
func (r *Runtime) Stop(ctx context.Context, id string, grace time.Duration) error {
	if err := r.begin(ctx, "stop", id); err != nil {
		return err
	}
	var stopped *container
	var incarnation int
	err := r.with(ctx, id, func(e *Engine, c *container) error {
		stopped, incarnation = c, c.generation
		e.stopLocked(c, grace)
		return nil
	})
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	// It may be started again before this goroutine looks.
	return r.engine.await(ctx, stopped, func() bool { return !stopped.active() || stopped.generation != incarnation })
}

// Remove implements runtime.Runtime.
func (r *Runtime) Remove(ctx context.Context, id string) error {
	if err := r.begin(ctx, "remove", id); err != nil {
		return err
	}
	err := r.with(ctx, id, func(e *Engine, c *container) error {
		e.removeLocked(c)
		return nil
	})
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	return err
}

// begin counts a mutating call and calls the test's hook.
func (r *Runtime) begin(ctx context.Context, verb, subject string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := r.engine
	e.mu.Lock()
	if err := r.checkLocked(); err != nil {
		e.mu.Unlock()
		return err
	}
	e.log.calls[verb]++
	hook := e.opts.Before
	e.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(verb, subject)
}

// inspect runs f with the engine locked and answering.
func (r *Runtime) inspect(ctx context.Context, f func(e *Engine) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	if err := r.checkLocked(); err != nil {
		return err
	}
	return f(r.engine)
}

// with is inspect for one container of the cluster, by id or name.
func (r *Runtime) with(ctx context.Context, id string, f func(e *Engine, c *container) error) error {
	return r.inspect(ctx, func(e *Engine) error {
		c := e.containers[id]
		if c == nil {
			c = e.names[e.nameOn(r.node, id)]
		}
		if c == nil || !r.owns(c) {
			return fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
		}
		return f(e, c)
	})
}

// checkLocked returns an error unless the engine answers this client.
func (r *Runtime) checkLocked() error {
	if r.engine.down || r.closed.Err() != nil {
		return runtime.ErrUnavailable
	}
	return nil
}

// await returns when wanted reports true for the container.
func (e *Engine) await(ctx context.Context, c *container, wanted func() bool) error {
	for {
		e.mu.Lock()
		done, changed := wanted(), c.changed
		e.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// delay returns one of the options' delays.
func (e *Engine) delay(pick func(Options) func() time.Duration) time.Duration {
	e.mu.Lock()
	draw := pick(e.opts)
	e.mu.Unlock()
	return wait(draw)
}
