package hollow

import (
	"context"

	"tend.dev/tend/internal/node/runtime"
)

// processWatch waits for the ends of processes, by the containers' ids.
type processWatch struct {
	running map[string]runtime.Container
	ended   func(runtime.Container)
}

// WatchProcesses implements runtime.Runtime: the machine reports the ends, also while the engine is unreachable.
func (r *Runtime) WatchProcesses(ctx context.Context, running []runtime.Container, ended func(runtime.Container)) {
	e := r.engine
	watch := &processWatch{running: map[string]runtime.Container{}, ended: ended}
	e.mu.Lock()
	for _, was := range running {
		c := e.containers[was.ID]
		switch {
		case was.State != runtime.StateRunning:
		case c == nil || !c.alive() || !c.started.Equal(was.StartedAt):
			ended(was)
		default:
			watch.running[was.ID] = was
		}
	}
	e.watches[watch] = struct{}{}
	e.mu.Unlock()
	<-ctx.Done()
	e.mu.Lock()
	delete(e.watches, watch)
	e.mu.Unlock()
}

func (e *Engine) processEndedLocked(c *container) {
	for watch := range e.watches {
		if was, watched := watch.running[c.id]; watched {
			delete(watch.running, c.id)
			watch.ended(was)
		}
	}
}
