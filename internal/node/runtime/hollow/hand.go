package hollow

import (
	"fmt"
	"maps"
	"time"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/restart"
)

// Actions of users on containers with the engine's own tools, past Tend. An unknown name is an error.

// Kill is `docker kill --signal`: SIGKILL ends the container at once, SIGTERM, SIGINT and SIGQUIT as a stop would
// without a grace period; other signals are only reported.
func (e *Engine) Kill(name, signal string) error {
	return e.hand(name, func(c *container) error {
		switch signal {
		case "SIGKILL", "KILL", "9":
			e.killNowLocked(c)
		case "SIGTERM", "SIGINT", "SIGQUIT", c.stopSignal():
			c.stopped = true
			e.signalLocked(c, signal)
		default:
			e.emitLocked(c, runtime.Event{Kind: runtime.EventKill, Signal: signal})
		}
		return nil
	})
}

// StopByHand is `docker stop`.
func (e *Engine) StopByHand(name string) error {
	return e.hand(name, func(c *container) error {
		e.stopLocked(c, 10*time.Second)
		return nil
	})
}

// StartByHand is `docker start`.
func (e *Engine) StartByHand(name string) error {
	return e.hand(name, e.startLocked)
}

// RestartByHand is `docker restart`; it doesn't wait for the container's stop delay.
func (e *Engine) RestartByHand(name string) error {
	return e.hand(name, func(c *container) error {
		e.stopLocked(c, 0)
		return e.startLocked(c)
	})
}

// RemoveByHand is `docker rm -f`.
func (e *Engine) RemoveByHand(name string) error {
	return e.hand(name, func(c *container) error {
		e.removeLocked(c)
		return nil
	})
}

// Pause is `docker pause`, Unpause its opposite.
func (e *Engine) Pause(name string) error {
	return e.hand(name, func(c *container) error {
		if c.state == runtime.StateRunning {
			c.state = runtime.StatePaused
			e.emitLocked(c, runtime.Event{Kind: runtime.EventPause})
		}
		return nil
	})
}

// Unpause is `docker unpause`.
func (e *Engine) Unpause(name string) error {
	return e.hand(name, func(c *container) error {
		if c.state == runtime.StatePaused {
			c.state = runtime.StateRunning
			e.emitLocked(c, runtime.Event{Kind: runtime.EventUnpause})
		}
		return nil
	})
}

// Detach is `docker network disconnect`.
func (e *Engine) Detach(name string) error {
	return e.hand(name, func(c *container) error {
		c.detached = true
		return nil
	})
}

// Exit ends a container's process as if by itself, or by a signal that did not come through the engine.
func (e *Engine) Exit(name string, code int) error {
	return e.hand(name, func(c *container) error {
		e.exitLocked(c, code, false)
		return nil
	})
}

// OOM ends a container's process as the kernel does when memory is short.
func (e *Engine) OOM(name string) error {
	return e.hand(name, func(c *container) error {
		e.exitLocked(c, killedCode, true)
		return nil
	})
}

// Print adds a line to a container's output.
func (e *Engine) Print(name, stream, text string) error {
	return e.hand(name, func(c *container) error {
		c.print(stream, text)
		return nil
	})
}

// RunByHand is `docker run -d`: a container with only the given labels and volumes, which runs until it is stopped.
func (e *Engine) RunByHand(name string, labels map[string]string, volumes ...string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.names[name] != nil {
		return fmt.Errorf("run %s: %w", name, runtime.ErrNameTaken)
	}
	spec := runtime.ContainerSpec{Name: name, Image: "by-hand", Labels: labels}
	spec.Spec.Volumes = volumes
	return e.startLocked(e.addLocked(spec, labels, restart.Policy{}, e.imageLocked("by-hand")))
}

// Containers returns all containers of the engine, of every cluster and of none, by name.
func (e *Engine) Containers() []runtime.Container {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []runtime.Container
	for _, c := range e.sortedLocked() {
		out = append(out, c.view())
	}
	return out
}

// Spec returns the spec of a container, with a copy of its environment; the zero value if there is no container of that
// name.
func (e *Engine) Spec(name string) runtime.ContainerSpec {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.namedLocked(name)
	if c == nil {
		return runtime.ContainerSpec{}
	}
	spec := c.spec
	spec.Env = maps.Clone(spec.Env)
	return spec
}

func (e *Engine) hand(name string, do func(c *container) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.namedLocked(name)
	if c == nil {
		return fmt.Errorf("%s: %w", name, errNoContainer)
	}
	return do(c)
}

// namedLocked returns the container of a name or an id; where the nodes are apart, any of that name.
func (e *Engine) namedLocked(name string) *container {
	if c := e.names[name]; c != nil {
		return c
	}
	if c := e.containers[name]; c != nil || !e.opts.Apart {
		return c
	}
	for _, c := range e.sortedLocked() {
		if c.name == name {
			return c
		}
	}
	return nil
}
