package agent

import (
	"context"
	"errors"
	"sync"

	"tend.dev/tend/internal/runtime"
)

// doubts are the tasks for which a container may have been made without an answer. The zero value is ready.
type doubts struct {
	mu sync.Mutex
	of map[string]bool
}

// begin notes a creation that failed, unless the engine itself refused it.
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

// settleDoubt has the engine's list say whether a task has a container after all. Before that nothing is planned: what is
// taken for gone could be there, and nobody would ever remove it.
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
