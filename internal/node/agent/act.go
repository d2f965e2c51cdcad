package agent

import (
	"context"
	"errors"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/observe/tracing"
)

// act carries out one action. waits reports that it continues outside of the workers and requeues the task when it
// ends.
func (a *Agent) act(
	ctx context.Context, task api.Task, in healing.Input, action healing.Action,
) (waits bool, err error) {
	tracing.Note(ctx, "action", action.String())
	a.log.DebugContext(ctx, "act", "task", task.ID, "pod", task.ContainerName(), "action", action.String())
	if action.Verb == healing.Create || action.Verb == healing.Start {
		if err := a.placeSecrets(ctx, task); err != nil {
			return false, err
		}
		if err := a.checkWriters(ctx, task, in.Container); err != nil {
			return false, err
		}
		if err := a.checkPorts(ctx, task); err != nil {
			return false, err
		}
	}
	if action.Init != "" {
		return a.actInit(ctx, task, in, action)
	}
	//exhaustive:enforce
	switch action.Verb {
	case healing.Create:
		return false, a.create(ctx, task)
	case healing.Start:
		return false, a.start(ctx, in.Container.ID)
	case healing.Stop:
		a.stop(ctx, task, in.Container.ID, action, a.drainTime(ctx, task, in.Frozen))
		return true, nil
	case healing.Remove:
		if a.keeper.keep(ctx, task, in.Container) {
			return true, nil
		}
		err := a.remove(ctx, in.Container.ID)
		if err == nil {
			a.secrets.drop(task.ID)
		}
		return false, err
	case healing.Rejoin:
		err := a.create(ctx, task)
		a.containers.touch(in.Container.ID)
		return false, err
	case healing.Pull:
		return a.pull(ctx, task)
	case healing.None:
	}
	return false, nil
}

func (a *Agent) create(ctx context.Context, task api.Task) error {
	release, err := a.releases.of(ctx, task)
	if err != nil {
		return err
	}
	if err := a.ensureClaims(ctx, task, release); err != nil {
		return err
	}
	return a.createFrom(ctx, release, containerSpec(task, release))
}

// createFrom creates a container from a release's image.
func (a *Agent) createFrom(ctx context.Context, release node.Release, spec runtime.ContainerSpec) error {
	if err := a.releases.link(ctx, release); err != nil {
		return err
	}
	if spec.ImageID == "" {
		image, err := a.pulls.local(ctx, release)
		if errors.Is(err, runtime.ErrNotFound) {
			a.pulls.miss(release)
			return nil // the next plan pulls it
		}
		if err != nil {
			return err
		}
		spec.ImageID = image.ID
	}
	spec.Files = a.secrets.mounts(spec.Labels[api.LabelTask], release.SecretFiles)
	made, err := a.runtime.Create(ctx, spec)
	if spec.ImageID != "" && imageMissing(err) {
		if there, absent := a.pulls.local(ctx, release); absent == nil {
			spec.ImageID = there.ID
			made, err = a.runtime.Create(ctx, spec)
		}
	}
	if imageMissing(err) {
		a.pulls.miss(release)
		return nil // the next plan pulls it
	}
	if err != nil {
		a.doubts.begin(spec.Labels[api.LabelTask], err)
		return err
	}
	a.containers.put(made)
	return nil
}

func imageMissing(err error) bool {
	var rejected *runtime.RejectedError
	return errors.As(err, &rejected) && rejected.Reason == api.ReasonImageNotFound
}

// start starts a container. A container that vanished meanwhile doesn't cause an error: the next reconcile creates
// another.
func (a *Agent) start(ctx context.Context, id string) error {
	err := a.runtime.Start(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		a.containers.remove(id)
		return nil
	}
	a.containers.touch(id)
	a.containers.started(id, err != nil && ctx.Err() == nil && !errors.Is(err, runtime.ErrUnavailable))
	return err
}

func (a *Agent) remove(ctx context.Context, id string) error {
	if err := a.runtime.Remove(ctx, id); err != nil {
		return err
	}
	a.containers.remove(id)
	return nil
}

// stop blocks for up to the drain time and the grace period, so it runs outside of the workers. A pod that drains takes
// no place of the stops: its requests may take an hour.
func (a *Agent) stop(from context.Context, of api.Task, container string, action healing.Action, drain time.Duration) {
	task := of.ID
	a.stops.beginUnlimited(from, container, func(ctx context.Context) error {
		a.drain(ctx, of, drain)
		return a.stops.limited(ctx, func(ctx context.Context) error {
			a.containers.ending(container)
			return a.runtime.Stop(ctx, container, action.Grace)
		})
	}, func(err error) {
		a.taskEnds.put(task, err)
		a.containers.touch(container)
		a.tasks.Enqueue(taskKey(task))
	})
}

// drainTime returns how long a pod that is going away may finish its requests. It is 0 for a pod that is to run again:
// it keeps its place, so requests would keep coming.
func (a *Agent) drainTime(ctx context.Context, task api.Task, frozen bool) time.Duration {
	if task.Desired == api.DesiredRunning && !frozen {
		return 0
	}
	release, err := a.releases.of(ctx, task)
	if err != nil {
		return api.DefaultDrain
	}
	return release.Spec.ResolvedStrategy().Drain
}

// pull pulls the image a release was made from, which is no longer on this node, or joins a pull under way.
func (a *Agent) pull(ctx context.Context, task api.Task) (waits bool, err error) {
	release, err := a.releases.of(ctx, task)
	if err != nil {
		return false, err
	}
	return a.pullRelease(ctx, task, release)
}

// imageOf reports whether a task's image is known to be missing.
func (a *Agent) imageOf(task api.Task) healing.ImageState {
	release, known := a.releases.cached(task)
	if !known {
		return healing.ImageAssumed
	}
	return a.pulls.state(release)
}
