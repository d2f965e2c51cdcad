package agent

import (
	"context"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/node/runtime"
)

// longestLookBeside bounds one look at who writes beside the pods.
const longestLookBeside = 30 * time.Second

// beside holds the containers of other programs that write to what running pods write to, by task. No start of Tend's
// let them: they were started later, or the engine started the pod again by its restart policy. They can't be refused
// any more, so the pods report them.
type beside struct {
	mu      sync.Mutex
	writers map[string]volumes.Writer
}

// of returns what a task's pod has to report; nil if nothing writes beside it.
func (b *beside) of(task string) *healing.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	writer, found := b.writers[task]
	if !found {
		return nil
	}
	return &healing.Fault{Reason: api.ReasonVolumeInUse, Message: writer.Beside(), Next: writer.End()}
}

// replace stores what was seen, and returns the tasks for which that is news.
func (b *beside) replace(seen map[string]volumes.Writer) (changed []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for task, writer := range seen {
		if before, found := b.writers[task]; !found || before != writer {
			changed = append(changed, task)
		}
	}
	for task := range b.writers {
		if _, still := seen[task]; !still {
			changed = append(changed, task)
		}
	}
	b.writers = seen
	return changed
}

// beginLookBeside looks who writes beside the pods after every comparison with the engine's full list, one look at a
// time. The comparison neither waits for it nor fails with it: pods need the list, not this.
func (a *Agent) beginLookBeside(from context.Context) {
	a.looks.begin(from, "look beside", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, longestLookBeside)
		defer cancel()
		return a.lookBeside(ctx)
	}, func(err error) {
		if err != nil {
			a.log.Warn("who else writes to the volumes of pods was not found out; tried again", "error", err)
		}
	})
}

// lookBeside asks the engine who writes beside the pods.
func (a *Agent) lookBeside(ctx context.Context) error {
	neighbours, ok := runtime.As[runtime.Neighbours](a.runtime)
	if !ok {
		return nil
	}
	found, err := neighbours.SecondWriters(ctx)
	if err != nil {
		return err
	}
	seen := map[string]volumes.Writer{}
	for _, c := range a.containers.all() {
		if writer, is := found[c.ID]; is {
			seen[c.Task()] = writer
		}
	}
	for _, task := range a.beside.replace(seen) {
		if writer, is := seen[task]; is {
			a.log.Warn("another program writes to a volume of a pod", "task", task, "volume", writer.Source,
				"container", writer.Container)
		}
		a.tasks.Enqueue(taskKey(task))
	}
	return nil
}
