package agent

import (
	"context"
	"errors"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/runtime"
)

// reasonImageNotFound is a runtime's word for an image that isn't there.
const reasonImageNotFound = "ImageNotFound"

// act does one thing. waits says that it goes on beside the workers and wakes the task when it ends.
func (a *Agent) act(ctx context.Context, task api.Task, in healing.Input, action healing.Action) (waits bool, err error) {
	a.log.Debug("act", "task", task.ID, "pod", task.ContainerName(), "action", action.String())
	switch action.Verb {
	case healing.Create:
		return false, a.create(ctx, task)
	case healing.Start:
		return false, a.start(ctx, in.Container.ID)
	case healing.Stop:
		a.stop(task.ID, in.Container.ID, action)
		return true, nil
	case healing.Remove:
		return false, a.remove(ctx, in.Container.ID)
	case healing.Pull:
		return a.pull(ctx, task)
	}
	return false, nil
}

func (a *Agent) create(ctx context.Context, task api.Task) error {
	release, err := a.releases.of(ctx, task)
	if err != nil {
		return err
	}
	made, err := a.runtime.Create(ctx, containerSpec(task, release))
	if imageMissing(err) {
		a.pulls.miss(release)
		return nil // the next plan fetches it
	}
	if err != nil {
		return err
	}
	a.containers.put(made)
	return nil
}

func imageMissing(err error) bool {
	var rejected *runtime.RejectedError
	return errors.As(err, &rejected) && rejected.Reason == reasonImageNotFound
}

// start begins an incarnation. A container that vanished meanwhile is no fault: the next look makes another.
func (a *Agent) start(ctx context.Context, id string) error {
	err := a.runtime.Start(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		a.containers.gone(id)
		return nil
	}
	a.containers.touch(id)
	return err
}

func (a *Agent) remove(ctx context.Context, id string) error {
	if err := a.runtime.Remove(ctx, id); err != nil {
		return err
	}
	a.containers.gone(id)
	return nil
}

// stop blocks for up to the grace period, so it runs beside the workers.
func (a *Agent) stop(task, container string, action healing.Action) {
	a.stops.begin(container, func(ctx context.Context) error {
		return a.runtime.Stop(ctx, container, action.Grace)
	}, func(err error) {
		a.taskEnds.put(task, err)
		a.containers.touch(container)
		a.tasks.Enqueue(taskKey(task))
	})
}

// pull fetches the image a release was made from, which is not on this node any more, or joins who does already.
func (a *Agent) pull(ctx context.Context, task api.Task) (waits bool, err error) {
	release, err := a.releases.of(ctx, task)
	if err != nil {
		return false, err
	}
	if _, err := a.runtime.Resolve(ctx, release.ImageID); err == nil {
		a.pulls.found(release)
		return false, nil
	}
	a.pulls.begin(pinned(release), "task/"+task.ID, listener{ended: func(err error) {
		if err == nil {
			err = a.pulls.verify(release)
		}
		a.taskEnds.put(task.ID, err)
		a.tasks.Enqueue(taskKey(task.ID))
	}})
	return true, nil
}

// imageOf says whether a task's image is known to be missing.
func (a *Agent) imageOf(task api.Task) healing.ImageState {
	release, known := a.releases.cached(task)
	if !known {
		return healing.ImageAssumed
	}
	return a.pulls.state(release)
}
