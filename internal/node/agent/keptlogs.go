package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/deadline"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/agent/keptlogs"
	"tend.dev/tend/internal/node/runtime"
)

const (
	// keepTime bounds each reading of a log that is to be kept, and so how long a removal waits for it.
	keepTime = 5 * time.Second
	// longestKeep is the time for which a removal waits for its log, also if many wait for their turn.
	longestKeep = 2 * keepTime
	// keepsAtOnce is the number of logs read at once.
	keepsAtOnce = 16
	// sweepLogsEvery is the time between two removals of the logs of objects that are gone.
	sweepLogsEvery = time.Minute
)

// keptLines lists the numbers of last lines to read. If the engine doesn't return the first number in time, the second
// one is tried.
var keptLines = []int{20_000, 500}

// keeper reads the log of a container into the store before the container is removed, outside of the workers. A removal
// never fails for it, and waits a bounded time.
type keeper struct {
	*operations
	agent *Agent
	store *keptlogs.Store // nil keeps nothing

	mu       sync.Mutex
	readings map[string]*keeping // by container
}

// keeping is the reading of the log of a container that is about to be removed. It is done when the log was read, or
// can't be.
type keeping struct {
	since time.Time
	done  bool
}

func newKeeper(a *Agent, store *keptlogs.Store) *keeper {
	return &keeper{operations: newOperations(keepsAtOnce), agent: a, store: store, readings: map[string]*keeping{}}
}

// keep reports whether the removal of a task's container must wait for its log, which it starts to read then. The task
// is requeued when the log was read.
func (k *keeper) keep(from context.Context, task api.Task, container *healing.Container) (waits bool) {
	// What goes with its object is not kept. The output of a release's command stays as long as its record.
	if k.store == nil || task.OwnerUID == "" || task.Role != api.RoleMain || task.Reason == api.ReasonDeleted ||
		container.StartedAt.IsZero() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch at := k.readings[container.ID]; {
	case at == nil:
		k.readings[container.ID] = &keeping{since: k.agent.now()}
	case at.done || deadline.Left(at.since.Add(longestKeep), k.agent.now(), longestKeep) == 0:
		delete(k.readings, container.ID) // if the removal fails, the log is read again
		return false
	default:
		return true
	}
	log := node.KeptLog{
		Container: container.ID, Owner: task.Owner(), OwnerUID: task.OwnerUID, Slot: task.Slot, Run: task.Run,
		Release: task.Release, KeptAt: k.agent.now(),
	}
	k.begin(from, container.ID, func(ctx context.Context) error { return k.read(ctx, log) }, func(err error) {
		k.end(log, err)
		k.agent.tasks.Enqueue(taskKey(task.ID))
	})
	return true
}

// end notes that a log was read, or can't be.
func (k *keeper) end(log node.KeptLog, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch at := k.readings[log.Container]; {
	case errors.Is(err, runtime.ErrNotFound): // so is its container
		delete(k.readings, log.Container)
		return
	case at != nil:
		at.done = true
	}
	if err != nil {
		k.agent.log.Warn("the log of a container that is removed could not be kept", "pod", log.Pod(), "error", err)
	}
}

// read stores the last lines of a log.
func (k *keeper) read(ctx context.Context, log node.KeptLog) (err error) {
	for _, lines := range keptLines {
		if err = k.readLast(ctx, log, lines); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (k *keeper) readLast(ctx context.Context, log node.KeptLog, lines int) error {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	reader, err := k.agent.runtime.Logs(ctx, log.Container, runtime.LogOptions{Tail: lines})
	if err != nil {
		return err
	}
	defer reader.Close()
	return k.store.Keep(log, reader)
}

// sweep removes, again and again, the logs of objects that are gone.
func (k *keeper) sweep(ctx context.Context) error {
	if k.store == nil {
		<-ctx.Done()
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-k.agent.control.Synced():
	}
	for {
		if err := k.store.Sweep(ctx, k.agent.control.Referred); err != nil && ctx.Err() == nil {
			k.agent.log.Debug("kept logs of deleted objects were not looked for; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepLogsEvery):
		}
	}
}

// KeptLogs returns the logs that the node keeps of an object's removed containers, the newest first.
func (a *Agent) KeptLogs(_ context.Context, owner api.Ref) ([]node.KeptLog, error) {
	if a.keeper.store == nil {
		return nil, nil
	}
	return a.keeper.store.Of(owner), nil
}

// KeptLog reads the log that is kept of a container.
func (a *Agent) KeptLog(_ context.Context, container string, opts runtime.LogOptions) (runtime.LogReader, error) {
	if a.keeper.store == nil {
		return nil, runtime.ErrNotFound
	}
	return a.keeper.store.Logs(container, opts)
}
