package docker

import (
	"context"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/core/volumes"
)

// Neighbours returns all containers of the engine that may write to a volume or a folder, not only Compose's: those
// that run, and those that the engine's next start would start.
func (c *Compose) Neighbours(ctx context.Context) ([]takeover.Neighbour, error) {
	at, err := listPlaces(ctx, c.client, true)
	if err != nil {
		return nil, err
	}
	list, err := c.client.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return nil, fault("list the containers of the engine", err)
	}
	var out []takeover.Neighbour
	for _, item := range list.Items {
		writes := at.writable(item.Mounts)
		if len(writes) == 0 || len(item.Names) == 0 {
			continue
		}
		n := takeover.Neighbour{ID: item.ID, Container: volumes.Container{
			Name: strings.TrimPrefix(item.Names[0], "/"), Labels: at.labels(item.Labels), Writes: writes,
		}}
		switch item.State {
		case container.StateRunning, container.StateRestarting, container.StatePaused:
		default:
			found, err := c.client.ContainerInspect(ctx, item.ID, client.ContainerInspectOptions{})
			if cerrdefs.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, fault("inspect container "+short(item.ID), err)
			}
			if n.Waits = startsWithEngine(found.Container); !n.Waits {
				continue
			}
		}
		out = append(out, n)
	}
	return out, nil
}

// startsWithEngine reports whether the engine's next start starts a stopped container.
func startsWithEngine(c container.InspectResponse) bool {
	if c.HostConfig == nil || c.State == nil {
		return false
	}
	policy := c.HostConfig.RestartPolicy
	return policy.IsAlways() || policy.IsOnFailure() && c.State.ExitCode != 0
}
