package docker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/core/volumes"
)

// labelOneOff marks the containers of `docker compose run`, which belong to no service's scale.
const labelOneOff = "com.docker.compose.oneoff"

// Compose is a client of the engine for the containers of one Compose project. It touches no others.
type Compose struct {
	client  *client.Client
	project string
}

// ComposeContainer is a container of a Compose project, with its settings.
type ComposeContainer struct {
	takeover.Container
	Service string
	takeover.Runs
	// Writes are the volumes and folders that it may write to, and Shared those that several programs may write to
	// according to its label.
	Writes []string
	Shared string
}

// OpenCompose connects to the engine that the docker command uses here.
func OpenCompose(project string) (*Compose, error) {
	address, err := engineAddress("", slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("engine address: %w", err)
	}
	engine, err := client.New(append([]client.Opt{client.WithHTTPClient(newHTTPClient()),
		client.WithHost(client.DefaultDockerHost)}, address...)...)
	if err != nil {
		return nil, fmt.Errorf("engine address: %w", err)
	}
	return &Compose{client: engine, project: project}, nil
}

// ComposeProjects returns the names of the projects that have containers on the engine of this machine.
func ComposeProjects(ctx context.Context) ([]string, error) {
	all, err := OpenCompose("")
	if err != nil {
		return nil, err
	}
	defer all.Close()
	list, err := all.client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", volumes.LabelProject),
	})
	if err != nil {
		return nil, fault("list the containers of Compose", err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Labels[volumes.LabelProject])
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// ID returns the engine's own unique id.
func (c *Compose) ID(ctx context.Context) (string, error) {
	result, err := c.client.Info(ctx, client.InfoOptions{})
	return result.Info.ID, fault("ask the engine about itself", err)
}

// Close frees the connections.
func (c *Compose) Close() error { return c.client.Close() }

// Containers returns the containers of the project's services, running or not, by name.
func (c *Compose) Containers(ctx context.Context) ([]ComposeContainer, error) {
	list, err := c.client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", volumes.LabelProject+"="+c.project),
	})
	if err != nil {
		return nil, fault("list the containers of the Compose project "+c.project, err)
	}
	at, err := listPlaces(ctx, c.client, true)
	if err != nil {
		return nil, err
	}
	var out []ComposeContainer
	for _, item := range list.Items {
		if strings.EqualFold(item.Labels[labelOneOff], "true") || item.Labels[volumes.LabelService] == "" {
			continue
		}
		found, err := c.client.ContainerInspect(ctx, item.ID, client.ContainerInspectOptions{})
		if err != nil {
			return nil, fault("inspect container "+short(item.ID), err)
		}
		out = append(out, composeContainer(found.Container, at))
	}
	slices.SortFunc(out, func(a, b ComposeContainer) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func composeContainer(from container.InspectResponse, at places) ComposeContainer {
	out := ComposeContainer{
		Container: takeover.Container{ID: from.ID, Name: strings.TrimPrefix(from.Name, "/"), Restart: "no"},
		Writes:    at.writable(from.Mounts),
	}
	if state := from.State; state != nil {
		out.Running = state.Running || state.Restarting || state.Paused
	}
	out.Waits = !out.Running && startsWithEngine(from)
	if from.HostConfig != nil {
		out.Restart = first(restartText(from.HostConfig.RestartPolicy), "no")
	}
	if from.Config != nil {
		out.Service, out.Image = from.Config.Labels[volumes.LabelService], from.Config.Image
		out.Shared = at.shared(from.Config.Labels[api.SharedVolumes])
	}
	for _, m := range from.Mounts {
		if m.Type == mount.TypeVolume {
			out.Mounts = append(out.Mounts, takeover.Mount{Volume: m.Name, Target: m.Destination})
		}
	}
	slices.SortFunc(out.Mounts, func(a, b takeover.Mount) int { return strings.Compare(a.Target, b.Target) })
	if from.NetworkSettings == nil {
		return out
	}
	for name, endpoint := range from.NetworkSettings.Networks {
		if name == "bridge" || name == "host" || name == "none" || endpoint == nil {
			continue
		}
		aliases := slices.DeleteFunc(slices.Clone(endpoint.Aliases),
			func(alias string) bool { return strings.HasPrefix(from.ID, alias) })
		slices.Sort(aliases)
		out.Networks = append(out.Networks, takeover.Network{Name: name, Aliases: slices.Compact(aliases)})
	}
	slices.SortFunc(out.Networks, func(a, b takeover.Network) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Rename changes the name of a container.
func (c *Compose) Rename(ctx context.Context, id, name string) error {
	_, err := c.client.ContainerRename(ctx, id, client.ContainerRenameOptions{NewName: name})
	return fault("rename container "+short(id), err)
}

// SetRestart sets a container's restart policy: no, always, unless-stopped, on-failure[:N].
func (c *Compose) SetRestart(ctx context.Context, id, restart string) error {
	name, count, _ := strings.Cut(restart, ":")
	policy := container.RestartPolicy{Name: container.RestartPolicyMode(name)}
	policy.MaximumRetryCount, _ = strconv.Atoi(count)
	_, err := c.client.ContainerUpdate(ctx, id, client.ContainerUpdateOptions{RestartPolicy: &policy})
	return fault("set the restart policy of container "+short(id), err)
}

// Stop stops a container with its own signal and grace period, and returns when it has stopped.
func (c *Compose) Stop(ctx context.Context, id string) error {
	_, err := c.client.ContainerStop(ctx, id, client.ContainerStopOptions{})
	return fault("stop container "+short(id), err)
}

// Start starts a container.
func (c *Compose) Start(ctx context.Context, id string) error {
	_, err := c.client.ContainerStart(ctx, id, client.ContainerStartOptions{})
	return fault("start container "+short(id), err)
}

// Remove removes a stopped container. All its volumes stay, also those without a name: Tend's pods mount them.
func (c *Compose) Remove(ctx context.Context, id string) error {
	_, err := c.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{})
	return fault("remove container "+short(id), err)
}
