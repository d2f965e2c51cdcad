package agent

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/reconciler"
)

// observe gathers the input of the decision about a task. It calls the engine only for a container that something
// happened to.
func (a *Agent) observe(ctx context.Context, assigned node.Assignment) (healing.Input, error) {
	in := healing.Input{
		Task: assigned.Task, Status: a.reports.task(assigned), Recorded: assigned.Status.Container,
		Frozen: assigned.Frozen, PluginAtWork: assigned.PluginAtWork,
		Held: a.held(assigned), Grace: a.grace(ctx, assigned.Task), Image: a.imageOf(assigned.Task),
	}
	in.MemoryLimit = a.memoryLimit(assigned.Task)
	if err := a.settleDoubt(ctx, assigned.Task.ID); err != nil {
		return in, err
	}
	seen, err := a.containers.observe(ctx, assigned.Task.ID)
	if err != nil {
		return in, err
	}
	setObserved(&in, seen)
	in.Probes = a.probing(assigned.Task, seen) // the grace has read the release
	in.Occupied = seen == nil && a.occupied(assigned.Task)
	in.Log = a.lastLogs.of(assigned.Task.ID)
	in.Beside = a.beside.of(assigned.Task.ID)
	return in, a.observeInits(ctx, &in)
}

// drifted returns the tasks that need something, judging only by what is known.
func (a *Agent) drifted(now time.Time) []reconciler.Key {
	var keys []reconciler.Key
	for _, id := range a.control.Tasks() {
		assigned, ok := a.control.Task(id)
		if !ok {
			continue
		}
		seen, stale := a.containers.known(id)
		in := healing.Input{
			Task: assigned.Task, Status: a.reports.task(assigned), Recorded: assigned.Status.Container,
			Frozen: assigned.Frozen, PluginAtWork: assigned.PluginAtWork, Held: assigned.PredecessorOpen,
			Probes: a.probing(assigned.Task, seen),
		}
		setObserved(&in, seen)
		in.Occupied = seen == nil && a.occupied(assigned.Task)
		unknown := a.knownInits(&in) || stale != ""
		if next := healing.Plan(in, now); unknown || next.Inspect || next.Action.Verb != healing.None {
			keys = append(keys, taskKey(id))
		}
	}
	return keys
}

// held reports whether the predecessor may still run, and requests a requeue for when it has stopped.
func (a *Agent) held(assigned node.Assignment) bool {
	if stopping := a.stopping(assigned.Task); stopping != "" {
		a.successors.add(stopping, assigned.Task.ID)
		if a.containers.live(stopping) {
			return true
		}
	}
	before := assigned.Task.After
	if before == "" {
		return false
	}
	a.successors.add(before, assigned.Task.ID)
	if a.containers.live(before) || a.open(assigned.Task.ID, before) {
		return true
	}
	a.successors.remove(before, assigned.Task.ID)
	return false
}

// stopping returns a task that was stopped and still runs here, and that nothing of the run may run beside: the servers
// began the run while the node was silent. One of an object that had the name before counts too: its command may do the
// same.
func (a *Agent) stopping(task api.Task) string {
	if task.Run == "" {
		return ""
	}
	for _, c := range a.containers.all() {
		if c.Task() == task.ID || c.Labels[api.LabelName] != task.Name || !live(c) {
			continue
		}
		assigned, known := a.control.Task(c.Task())
		other := assigned.Task
		apart := other.Run == task.Run || task.Exclusive && other.Run != ""
		if known && other.Desired != api.DesiredRunning && other.Owner() == task.Owner() && apart {
			return other.ID
		}
	}
	return ""
}

// open reports whether the predecessor has yet to end. It reads the state again: an end between the first read and the
// request for a requeue has requeued nothing.
func (a *Agent) open(task, before string) bool {
	assigned, known := a.control.Task(task)
	return known && assigned.PredecessorOpen && !a.reports.ended(before)
}

// grace returns how long the container has to stop. Without its release it is the default.
func (a *Agent) grace(ctx context.Context, task api.Task) time.Duration {
	if release, err := a.releases.of(ctx, task); err == nil {
		return release.Spec.StopGracePeriod.Or(api.DefaultStopGracePeriod)
	}
	return api.DefaultStopGracePeriod
}

// memoryLimit returns the declared limit of a task whose release is known; empty if there is none.
func (a *Agent) memoryLimit(task api.Task) string {
	release, known := a.releases.cached(task)
	if !known || release.Spec.Resources == nil || release.Spec.Resources.Limits == nil {
		return ""
	}
	return release.Spec.Resources.Limits.Memory
}

// setObserved copies an observation into an input.
func setObserved(in *healing.Input, seen *observation) {
	if seen == nil {
		return
	}
	in.Container = containerOf(seen.container)
	in.FailedStarts, in.FailedSince = seen.failedStarts, seen.failedSince
	in.Cause, in.LastExit, in.Watched, in.InspectedAt = seen.cause, seen.exit, seen.watched, seen.inspectedAt
}

func containerOf(c runtime.Container) *healing.Container {
	return &healing.Container{
		ID: c.ID, State: healing.State(c.State), Restart: c.Restart, RestartCount: c.RestartCount, ExitCode: c.ExitCode,
		OOMKilled: c.OOMKilled, ImageID: c.ImageID, Address: c.Address, Detached: c.Detached, Ports: c.Ports, PID: c.PID,
		CreatedAt: c.CreatedAt, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt,
	}
}
