package docker

import (
	"context"
	"errors"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
)

// Start starts a container. If the engine refuses, the container stays in state created (or exited), with the engine's
// message in Container.Error.
func (r *Runtime) Start(ctx context.Context, id string) error {
	id, err := r.own(ctx, id)
	if err != nil {
		return err
	}
	_, err = r.client.ContainerStart(ctx, id, client.ContainerStartOptions{})
	if r.network.lacks(err) {
		r.network.forget() // someone removed the network without us; older engines notice that only now
		if err := r.network.ensure(ctx); err != nil {
			return err
		}
		_, err = r.client.ContainerStart(ctx, id, client.ContainerStartOptions{})
	}
	failed := r.containerFault("start", id, err)
	r.forget(err, id)
	return r.withOwner(ctx, failed)
}

// Stop sends the stop signal, waits and kills. The engine counts in seconds: other grace periods are rounded up.
func (r *Runtime) Stop(ctx context.Context, id string, grace time.Duration) error {
	id, err := r.own(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	seconds := wholeSeconds(max(grace, 0))
	_, err = r.client.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &seconds})
	if r.forget(err, id) {
		return nil
	}
	return r.containerFault("stop", id, err)
}

// Remove kills and removes a container. If another removal is under way, Remove waits for it.
func (r *Runtime) Remove(ctx context.Context, id string) error {
	id, err := r.own(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	// RemoveVolumes removes only the anonymous volumes: each container gets its own, and they could not be found again.
	_, err = r.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if cerrdefs.IsConflict(err) {
		err = r.awaitRemoval(ctx, id)
	}
	if r.forget(err, id) {
		return nil
	}
	if err == nil {
		r.owned.drop(id)
	}
	return r.containerFault("remove", id, err)
}

func (r *Runtime) awaitRemoval(ctx context.Context, id string) error {
	waiting := r.client.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	select {
	case err := <-waiting.Error:
		return err
	case <-waiting.Result:
		return nil
	}
}

// forget removes a container from the cache if the engine doesn't know it any more, and reports whether that is so.
func (r *Runtime) forget(err error, id string) bool {
	if !cerrdefs.IsNotFound(err) {
		return false
	}
	r.owned.drop(id)
	return true
}

func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

func short(id string) string { return id[:min(len(id), 12)] }
