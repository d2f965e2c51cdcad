package hollow

import (
	"errors"
	"time"

	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/runtime/restart"
)

// The life of a container, as docker lives it: a start by somebody forgets earlier stops and restarts; an end asks the
// restart policy; a stop or a kill through the engine is remembered, and no policy works against it.

const (
	killedCode   = 128 + 9
	notStartable = 127
)

// startLocked is a start by somebody: a client or a hand.
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

// exitLocked ends the incarnation by itself; by lack of memory with oom.
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

// againLocked is a restart by the policy. One that fails is a fault of the container, told by its state alone.
func (e *Engine) againLocked(c *container) {
	if err := e.runLocked(c); err != nil {
		c.finished = time.Now()
	}
}

// dieLocked is the end of a process, whatever its cause.
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

// stopLocked begins a stop; it ends by itself after the stop delay or the grace period, whoever still waits.
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

// killNowLocked is SIGKILL through the engine.
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

// shutDownLocked stops a container because its engine stops: nobody wished it.
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

// bootLocked is what an engine that comes up does with a container. One that never ran is left alone.
func (e *Engine) bootLocked(c *container) {
	end := restart.End{ExitCode: c.exitCode, Restarts: c.restarts, Stopped: c.stopped}
	if c.alive() || c.started.IsZero() || !c.policy.RestartsAtBoot(end) {
		return
	}
	c.stopped, c.restarts, c.backoff = false, 0, restart.Backoff{}
	e.againLocked(c)
}

// errNoContainer is the answer to a hand that names no container.
var errNoContainer = errors.New("no such container on the hollow engine")
