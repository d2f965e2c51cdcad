package docker

import (
	"context"
	"errors"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/node/runtime"
)

var _ runtime.Neighbours = (*Runtime)(nil)

// SecondWriter implements runtime.Neighbours. It takes two calls, and none for a spec without volumes. Containers with
// the label of this cluster are Tend's own.
func (r *Runtime) SecondWriter(ctx context.Context, spec api.DeploymentSpec) (volumes.Writer, bool, error) {
	written := volumes.Written(spec)
	for _, name := range volumes.From(spec) {
		found, err := r.client.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
		if cerrdefs.IsNotFound(err) {
			continue // the creation reports the fault
		}
		if err != nil {
			return volumes.Writer{}, false, r.fault("inspect container "+name, err)
		}
		written = append(written, places{}.writable(found.Container.Mounts)...)
	}
	return r.secondWriter(ctx, written, spec.Labels)
}

// SecondWriterOf implements runtime.Neighbours.
func (r *Runtime) SecondWriterOf(ctx context.Context, id string) (volumes.Writer, bool, error) {
	inspected, err := r.inspectOwn(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return volumes.Writer{}, false, nil // the start finds that out
	}
	if err != nil {
		return volumes.Writer{}, false, err
	}
	return r.secondWriter(ctx, places{}.writable(inspected.Container.Mounts), inspected.Container.Config.Labels)
}

// SecondWriters implements runtime.Neighbours. It takes one call, and another one if a container writes to a volume.
func (r *Runtime) SecondWriters(ctx context.Context) (map[string]volumes.Writer, error) {
	running, err := r.running(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]volumes.Writer{}
	var at *places
	var others []volumes.Container
	for _, item := range running {
		if !r.owns(item) || len((places{}).writable(item.Mounts)) == 0 {
			continue
		}
		if at == nil {
			_, local := r.local()
			listed, err := listPlaces(ctx, r.client, local)
			if err != nil {
				return nil, err
			}
			at, others = &listed, r.others(running, listed)
		}
		if writer, found := volumes.SecondWriter(at.data(at.writable(item.Mounts)), at.labels(item.Labels), others); found {
			out[item.ID] = writer
		}
	}
	return out, nil
}

// secondWriter returns a running container of another program that writes to one of the volumes or folders in written.
// The labels are those of the container to start, which may permit to share them.
func (r *Runtime) secondWriter(
	ctx context.Context, written []string, labels map[string]string,
) (volumes.Writer, bool, error) {
	if len(written) == 0 {
		return volumes.Writer{}, false, nil
	}
	_, local := r.local()
	at, err := listPlaces(ctx, r.client, local)
	if err != nil {
		return volumes.Writer{}, false, err
	}
	running, err := r.running(ctx)
	if err != nil {
		return volumes.Writer{}, false, err
	}
	writer, found := volumes.SecondWriter(at.data(written), at.labels(labels), r.others(running, at))
	return writer, found, nil
}

// running lists all running containers of the engine: the engine's own filter compares neither the folders of volumes
// nor the links that lead to folders.
func (r *Runtime) running(ctx context.Context) ([]container.Summary, error) {
	list, err := r.client.ContainerList(ctx, client.ContainerListOptions{})
	if err != nil {
		return nil, r.fault("list the containers that use its volumes", err)
	}
	return list.Items, nil
}

func (r *Runtime) owns(item container.Summary) bool {
	return item.Labels[api.LabelCluster] == r.options.Cluster
}

// others returns the containers that other programs run.
func (r *Runtime) others(running []container.Summary, at places) (out []volumes.Container) {
	for _, item := range running {
		if r.owns(item) || len(item.Names) == 0 {
			continue
		}
		out = append(out, volumes.Container{
			Name: strings.TrimPrefix(item.Names[0], "/"), Labels: at.labels(item.Labels), Writes: at.writable(item.Mounts),
		})
	}
	return out
}
