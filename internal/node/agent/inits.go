package agent

import (
	"context"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/runtime"
)

// declaredInits returns the init containers of a task. The commands of a release have none.
func (a *Agent) declaredInits(task api.Task, release node.Release) []healing.Init {
	if task.Role != api.RoleMain || len(release.Spec.Inits) == 0 {
		return nil
	}
	inits := make([]healing.Init, len(release.Spec.Inits))
	for i, init := range release.Spec.Inits {
		inits[i] = healing.Init{
			Name: init.Name, Timeout: init.Timeout.Or(api.DefaultInitTimeout), Retries: init.Retries,
			Image: a.pulls.state(initRelease(release, init)),
		}
	}
	return inits
}

// observeInits adds the declared and the observed init containers. Without its release a task must not start: its init
// containers are unknown.
func (a *Agent) observeInits(ctx context.Context, in *healing.Input) error {
	release, err := a.releases.of(ctx, in.Task)
	switch {
	case err == nil:
		in.Inits = a.declaredInits(in.Task, release)
	case in.Task.Desired == api.DesiredRunning && in.Container != nil && in.Container.State == healing.Created:
		fault := a.faultOf(err)
		if !fault.Rejected {
			return err
		}
		in.Fault = &fault
	}
	in.InitContainers, err = a.containers.inspectInits(ctx, in.Task.ID)
	return err
}

// knownInits is observeInits without calls to the engine or the control plane.
func (a *Agent) knownInits(in *healing.Input) (stale bool) {
	if release, known := a.releases.cached(in.Task); known {
		in.Inits = a.declaredInits(in.Task, release)
	}
	var id string
	in.InitContainers, id = a.containers.knownInitContainers(in.Task.ID)
	return id != ""
}

// inspectInits returns a task's init containers as they are now.
func (c *containers) inspectInits(ctx context.Context, task string) ([]healing.InitContainer, error) {
	for {
		seen, id := c.knownInitContainers(task)
		if id == "" {
			return seen, nil
		}
		if err := c.inspect(ctx, id); err != nil {
			return nil, err
		}
	}
}

// knownInitContainers returns the known state of a task's init containers, and the id of one that must be inspected
// first.
func (c *containers) knownInitContainers(task string) (seen []healing.InitContainer, stale string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.byTask[task] {
		if !isInit(e.container) {
			continue
		}
		if e.stale {
			stale = e.container.ID
		}
		seen = append(seen, initContainerOf(e))
	}
	return seen, stale
}

// isInit distinguishes an init container from a task's main one.
func isInit(c runtime.Container) bool { return c.Labels[api.LabelRole] == api.RoleInit }

func initContainerOf(e *entry) healing.InitContainer {
	labels := e.container.Labels
	attempt, _ := strconv.Atoi(labels[api.LabelInitAttempt])
	return healing.InitContainer{
		Container: *containerOf(e.container), Name: labels[api.LabelInit], For: labels[api.LabelInitFor], Attempt: attempt,
		Cause: e.endedBy(),
	}
}

// actInit is act for a task's init container.
func (a *Agent) actInit(
	ctx context.Context, task api.Task, in healing.Input, action healing.Action,
) (waits bool, err error) {
	at := initNamed(in, action.Init)
	if at == nil && action.Verb != healing.Create && action.Verb != healing.Pull {
		return false, nil // it went meanwhile
	}
	switch action.Verb {
	case healing.Start:
		return false, a.start(ctx, at.ID)
	case healing.Stop:
		a.stop(ctx, task, at.ID, action, 0)
		return true, nil
	case healing.Remove:
		err := a.remove(ctx, at.ID)
		if err != nil && in.Container != nil && in.Container.State == healing.Running {
			a.log.Warn("an init container that has done its work can't be removed; it is tried again", "task", task.ID, "init",
				action.Init, "error", err)
			return true, nil // it does not affect the main container
		}
		return false, err
	}
	release, err := a.releases.of(ctx, task)
	if err != nil {
		return false, err
	}
	for _, init := range release.Spec.Inits {
		if init.Name != action.Init {
			continue
		}
		if action.Verb == healing.Pull {
			return a.pullRelease(ctx, task, initRelease(release, init))
		}
		return false, a.createFrom(ctx, initRelease(release, init),
			initSpec(task, release, init, in.Container.ID, action.Attempt))
	}
	return false, nil
}

func initNamed(in healing.Input, name string) *healing.InitContainer {
	for i := range in.InitContainers {
		if in.InitContainers[i].Name == name {
			return &in.InitContainers[i]
		}
	}
	return nil
}

// initRelease returns the release with the init's image in place of the main container's.
func initRelease(release node.Release, init api.Init) node.Release {
	if init.Image != "" {
		release.Image, release.ImageID, release.ImageDigest, release.Built = init.Image, "", "", false
	}
	return release
}

// initSpec returns the spec of an init container: the main container's environment, volumes, networks and rights, with
// its own command, limits and name. It serves no requests, so nothing is published and no name resolves to it.
func initSpec(task api.Task, release node.Release, init api.Init, main string, attempt int) runtime.ContainerSpec {
	spec := containerSpec(task, release)
	spec.Name = task.InitName(init.Name)
	spec.Labels[api.LabelRole], spec.Labels[api.LabelInit] = api.RoleInit, init.Name
	spec.Labels[api.LabelInitFor], spec.Labels[api.LabelInitAttempt] = main, strconv.Itoa(attempt)
	from := initRelease(release, init)
	spec.Image, spec.ImageID = from.Image, from.ImageID
	spec.Aliases, spec.Private, spec.Restart = nil, true, neverback
	spec.Spec = spec.Spec.ForInit(init)
	return spec
}
