package agent

import (
	"context"
	"errors"
	"sync"

	"tend.dev/tend/internal/node/runtime"
)

// doubts are the tasks for which a container may have been created without an answer. The zero value is ready to use.
type doubts struct {
	mu sync.Mutex
	of map[string]bool
}

// begin records a creation that failed, unless the engine itself refused it.
func (d *doubts) begin(task string, err error) {
	var rejected *runtime.RejectedError
	if errors.As(err, &rejected) || errors.Is(err, runtime.ErrNameTaken) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]bool{}
	}
	d.of[task] = true
}

func (d *doubts) about(task string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[task]
}

func (d *doubts) end(task string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, task)
}

// settleDoubt checks the engine's list for a container of the task. Before that nothing is planned: a container that is
// believed gone could exist, and would never be removed.
func (a *Agent) settleDoubt(ctx context.Context, task string) error {
	if !a.doubts.about(task) {
		return nil
	}
	mark := a.containers.mark()
	listed, err := a.runtime.List(ctx)
	if err != nil {
		return err
	}
	for _, other := range a.containers.compare(listed, mark, false) {
		if other != task {
			a.tasks.Enqueue(taskKey(other))
		}
	}
	a.doubts.end(task)
	return nil
}
