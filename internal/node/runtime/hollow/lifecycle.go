package hollow

import (
	"errors"
	"time"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/restart"
)

// The life cycle of a container follows Docker's. A start by a client resets earlier stops and restarts. When the
// process ends, the restart policy decides. A stop or a kill through the engine is remembered, and no policy overrides
// it.

const (
	killedCode   = 128 + 9
	notStartable = 127
)

// startLocked starts a container on request: of a client or of a user.
func (e *Engine) startLocked(c *container) error {
	if c.alive() {
		return nil
	}
	c.stopped, c.restarts, c.backoff = false, 0, restart.Backoff{}
	return e.runLocked(c)
}

// runLocked starts an incarnation.
func (e *Engine) runLocked(c *container) error {
	c.newGeneration()
	c.behaviour = e.behaviourLocked(c.spec)
	if err := e.startableLocked(c); err != nil {
		c.state, c.failure, c.exitCode = runtime.StateCreated, err.Error(), notStartable
		if !c.started.IsZero() {
			c.state = runtime.StateExited
		}
		c.broadcast()
		return err
	}
	c.state, c.failure, c.exitCode, c.oom = runtime.StateRunning, "", 0, false
	c.started, c.pid, c.stopping = time.Now(), 1000+e.nextLocked(), false
	e.bornLocked(c)
	e.emitLocked(c, runtime.Event{Kind: runtime.EventStart})
	for _, line := range c.behaviour.Output {
		c.print("stdout", line)
	}
	c.broadcast()
	if c.behaviour.Exits {
		e.afterLocked(c, max(c.behaviour.ExitAfter, 1), func() { e.exitLocked(c, c.behaviour.ExitCode, c.behaviour.OOM) })
	}
	return nil
}

func (e *Engine) startableLocked(c *container) error {
	if c.behaviour.StartError != nil {
		return c.behaviour.StartError
	}
	return e.bindLocked(c)
}

// exitLocked ends the incarnation by itself; with oom, by lack of memory.
func (e *Engine) exitLocked(c *container, code int, oom bool) {
	if !c.alive() {
		return
	}
	if oom {
		code = killedCode
		e.emitLocked(c, runtime.Event{Kind: runtime.EventOOM})
	}
	c.oom = oom
	e.dieLocked(c, code)
	if !c.policy.Restarts(restart.End{ExitCode: code, Restarts: c.restarts, Stopped: c.stopped}) {
		return
	}
	c.state = runtime.StateRestarting
	e.afterLocked(c, c.backoff.Next(c.finished.Sub(c.started)), func() {
		c.restarts++
		e.againLocked(c)
	})
}

// againLocked restarts a container by its policy. A failed restart shows only in the container's state.
func (e *Engine) againLocked(c *container) {
	if err := e.runLocked(c); err != nil {
		c.finished = time.Now()
	}
}

// dieLocked ends a process, whatever the cause.
func (e *Engine) dieLocked(c *container, code int) {
	c.newGeneration()
	c.state, c.exitCode, c.pid, c.finished = runtime.StateExited, code, 0, time.Now()
	e.diedLocked(c)
	e.processEndedLocked(c)
	e.emitLocked(c, runtime.Event{Kind: runtime.EventDie, ExitCode: code})
	if c.stopping {
		c.stopping = false
		e.emitLocked(c, runtime.Event{Kind: runtime.EventStop})
	}
	c.broadcast()
}

// stopLocked begins a stop. The stop ends after the stop delay or the grace period, even if no caller still waits.
func (e *Engine) stopLocked(c *container, grace time.Duration) {
	c.stopped = true
	switch {
	case c.state == runtime.StateRestarting:
		c.newGeneration()
		c.state = runtime.StateExited
		e.emitLocked(c, runtime.Event{Kind: runtime.EventStop})
		c.broadcast()
	case c.alive() && !c.stopping:
		c.stopping = true
		e.signalLocked(c, c.stopSignal())
		if c.alive() {
			e.afterLocked(c, grace, func() { e.killNowLocked(c) })
		}
	}
}

func (c *container) stopSignal() string {
	if c.spec.Spec.StopSignal != "" {
		return c.spec.Spec.StopSignal
	}
	return "SIGTERM"
}

// signalLocked sends a signal other than SIGKILL that means "stop".
func (e *Engine) signalLocked(c *container, signal string) {
	e.emitLocked(c, runtime.Event{Kind: runtime.EventKill, Signal: signal})
	if !c.behaviour.IgnoresStop {
		e.afterLocked(c, wait(e.opts.StopDelay), func() { e.dieLocked(c, c.behaviour.StopCode) })
	}
}

// killNowLocked kills a container with SIGKILL through the engine.
func (e *Engine) killNowLocked(c *container) {
	c.stopped = true
	if c.state == runtime.StateRestarting {
		c.newGeneration()
		c.state = runtime.StateExited
		c.broadcast()
		return
	}
	if c.alive() {
		e.emitLocked(c, runtime.Event{Kind: runtime.EventKill, Signal: "SIGKILL"})
		e.dieLocked(c, killedCode)
	}
}

// shutDownLocked stops a container because its engine stops, without a request.
func (e *Engine) shutDownLocked(c *container) {
	if c.state == runtime.StateRestarting {
		c.newGeneration()
		c.state = runtime.StateExited
	}
	if !c.alive() {
		return
	}
	c.stopping = true
	e.emitLocked(c, runtime.Event{Kind: runtime.EventKill, Signal: c.stopSignal()})
	code := c.behaviour.StopCode
	if c.behaviour.IgnoresStop {
		code = killedCode
	}
	e.dieLocked(c, code)
}

// bootLocked restarts a container by its policy when the engine starts. A container that never ran stays as it is.
func (e *Engine) bootLocked(c *container) {
	// As in Docker, a stop on request outlasts a boot under "unless-stopped" alone.
	end := restart.End{ExitCode: c.exitCode, Restarts: c.restarts, Stopped: c.stopped &&
		c.policy.Name == restart.UnlessStopped}
	if c.alive() || c.started.IsZero() || !c.policy.Restarts(end) {
		return
	}
	c.stopped, c.restarts, c.backoff = false, 0, restart.Backoff{}
	e.againLocked(c)
}

// errNoContainer is the error for a name without a container.
var errNoContainer = errors.New("no such container on the hollow engine")
