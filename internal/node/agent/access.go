package agent

import (
	"context"
	"errors"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
)

// The methods below call the engine for users. A pod is named by its task's id, or by its container's name or id;
// containers in quarantine have no pod name.

// List returns every container of the cluster on this node, as the engine reports it.
func (a *Agent) List(ctx context.Context) ([]runtime.Container, error) { return a.runtime.List(ctx) }

// Logs streams a pod's output.
func (a *Agent) Logs(ctx context.Context, pod string, opts runtime.LogOptions) (runtime.LogReader, error) {
	container, err := a.pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	return a.runtime.Logs(ctx, container.ID, opts)
}

// Exec runs a command in a pod.
func (a *Agent) Exec(ctx context.Context, pod string, opts runtime.ExecOptions) (runtime.Exec, error) {
	container, err := a.pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	return a.runtime.Exec(ctx, container.ID, opts)
}

// Stop stops a pod as a person would with the engine's own tools: it heals unless its slot is frozen.
func (a *Agent) Stop(ctx context.Context, pod string) error {
	container, err := a.pod(ctx, pod)
	if err != nil {
		return err
	}
	assigned, _ := a.control.Task(container.Task())
	return a.runtime.Stop(ctx, container.ID, a.grace(ctx, assigned.Task))
}

// Discard stops and removes a container, whatever it is of. Its volumes stay.
func (a *Agent) Discard(ctx context.Context, container string) error {
	if err := a.runtime.Stop(ctx, container, api.DefaultStopGracePeriod); err != nil {
		return err
	}
	return a.runtime.Remove(ctx, container)
}

func (a *Agent) pod(ctx context.Context, name string) (runtime.Container, error) {
	if assigned, known := a.control.Task(name); known {
		name = assigned.Task.ContainerName()
		if seen, _ := a.containers.known(assigned.Task.ID); seen != nil {
			name = seen.container.ID
		}
	}
	container, err := a.runtime.Inspect(ctx, name)
	if errors.Is(err, runtime.ErrNotFound) {
		return runtime.Container{}, fmt.Errorf("%s: %w", name, node.ErrNoPod)
	}
	if err != nil {
		return runtime.Container{}, err
	}
	if _, known := a.control.Task(container.Task()); !known {
		return runtime.Container{}, fmt.Errorf("%s: %w (the store does not know it)", name, node.ErrNoPod)
	}
	return container, nil
}
