package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// manyEndpointsAPI is the first API that accepts more than one network when a container is created.
const manyEndpointsAPI = "1.44"

// Create creates a container. If the container joins only the platform network, that takes one call: Create derives the
// result of an inspect instead of asking for it.
func (r *Runtime) Create(ctx context.Context, spec runtime.ContainerSpec) (runtime.Container, error) {
	request, err := newRequest(spec, machine{
		cluster: r.options.Cluster, node: r.options.Node, network: r.options.NetworkName, limits: r.hardLimits(),
	})
	if err != nil {
		return runtime.Container{}, fmt.Errorf("create container %s: %w", spec.Name, err)
	}
	if err := r.ensureNetworks(ctx, request); err != nil {
		return runtime.Container{}, err
	}
	id, err := r.create(ctx, request)
	if r.network.lacks(err) {
		r.network.forget() // someone removed the network without us
		if err := r.ensureNetworks(ctx, request); err != nil {
			return runtime.Container{}, err
		}
		id, err = r.create(ctx, request)
	}
	if cerrdefs.IsConflict(err) && strings.Contains(err.Error(), "is already in use by container") {
		return r.existing(ctx, spec, request)
	}
	if err != nil {
		return runtime.Container{}, r.createFault(spec, err)
	}
	r.owned.add(id, spec.Name)
	return runtime.Container{
		ID: id, Name: spec.Name, Labels: request.Config.Labels, State: runtime.StateCreated,
		Restart: restartText(request.HostConfig.RestartPolicy), ImageID: spec.ImageID, CreatedAt: time.Now().UTC(),
	}, nil
}

// create creates the container and joins its networks. If it can't join one of them, it removes the container again.
func (r *Runtime) create(ctx context.Context, request *request) (id string, err error) {
	version, err := r.apiVersion(ctx)
	if err != nil {
		return "", err
	}
	later := splitEndpoints(request, version)
	if request.legacy.needed(version) {
		id, err = r.createLegacy(ctx, request)
	} else {
		var result client.ContainerCreateResult
		result, err = r.client.ContainerCreate(ctx, request.ContainerCreateOptions)
		id = result.ID
	}
	if err != nil {
		return "", err
	}
	if err := r.connect(ctx, id, later); err != nil {
		_, removeErr := r.client.ContainerRemove(context.WithoutCancel(ctx), id, client.ContainerRemoveOptions{Force: true})
		return "", errors.Join(err, removeErr)
	}
	return id, nil
}

// splitEndpoints adds to the request the endpoints that the engine accepts in it, and returns the rest.
func splitEndpoints(request *request, version string) []endpoint {
	now, later := request.endpoints, []endpoint(nil)
	if len(now) > 1 && versions.LessThan(version, manyEndpointsAPI) {
		now, later = now[:1], now[1:]
	}
	if len(now) > 0 {
		request.NetworkingConfig = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{}}
	}
	for _, e := range now {
		request.NetworkingConfig.EndpointsConfig[e.network] = e.settings
	}
	return later
}

func (r *Runtime) connect(ctx context.Context, id string, endpoints []endpoint) error {
	for _, e := range endpoints {
		_, err := r.client.NetworkConnect(ctx, e.network,
			client.NetworkConnectOptions{Container: id, EndpointConfig: e.settings})
		if err != nil {
			return err
		}
	}
	return nil
}

// existing returns the task's own container that has the name. If a crash or a user left it without some of its
// networks, existing joins them.
func (r *Runtime) existing(
	ctx context.Context, spec runtime.ContainerSpec, request *request,
) (runtime.Container, error) {
	inspected, err := r.inspectOwn(ctx, spec.Name)
	if errors.Is(err, runtime.ErrNotFound) {
		return runtime.Container{}, r.nameTaken(ctx, spec.Name)
	}
	if err != nil {
		return runtime.Container{}, err
	}
	container := r.read(inspected.Container)
	if container.Task() != spec.Labels[api.LabelTask] {
		return runtime.Container{}, r.nameTaken(ctx, spec.Name)
	}
	if container.State != runtime.StateCreated && !container.Detached || inspected.Container.NetworkSettings == nil {
		return container, nil
	}
	var missing []endpoint
	for _, e := range request.endpoints {
		if _, joined := inspected.Container.NetworkSettings.Networks[e.network]; !joined {
			missing = append(missing, e)
		}
	}
	return container, r.fault("join the networks of container "+spec.Name, r.connect(ctx, container.ID, missing))
}

// createFault distinguishes a missing image from the other "not found" errors of a create, which mean a missing
// network.
func (r *Runtime) createFault(spec runtime.ContainerSpec, err error) error {
	if cerrdefs.IsNotFound(err) && containsAll(err.Error(), []string{"no such image"}) {
		return &runtime.RejectedError{
			Reason: "ImageNotFound", Detail: fmt.Sprintf("%s has no image %s", r.place(), spec.Image),
			Next: "pull or build it there, or correct `image`",
		}
	}
	return r.fault("create container "+spec.Name, err)
}
