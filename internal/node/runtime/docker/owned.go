package docker

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// owned caches the ids and names of containers with the cluster's label, which never changes in a container's life. It
// saves one call for each create, start, stop and remove; an unknown id costs one inspect.
type owned struct {
	mu    sync.Mutex
	names map[string]string
}

func newOwned() *owned { return &owned{names: map[string]string{}} }

func (o *owned) add(id, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names[id] = strings.TrimPrefix(name, "/")
}

func (o *owned) drop(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.names, id)
}

func (o *owned) has(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.names[id]
	return known
}

// name returns the name of a container; empty if it isn't known.
func (o *owned) name(id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.names[id]
}

// replace keeps only the listed containers, so that the cache doesn't outgrow the node.
func (o *owned) replace(names map[string]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = maps.Clone(names)
}

// own returns the full id of the cluster's container with that id or name, or ErrNotFound for any other.
func (r *Runtime) own(ctx context.Context, id string) (string, error) {
	if r.owned.has(id) {
		return id, nil
	}
	container, err := r.inspectOwn(ctx, id)
	return container.Container.ID, err
}

func (r *Runtime) inspectOwn(ctx context.Context, id string) (client.ContainerInspectResult, error) {
	found, err := r.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return client.ContainerInspectResult{}, r.containerFault("inspect", id, err)
	}
	if config := found.Container.Config; config == nil || config.Labels[api.LabelCluster] != r.options.Cluster {
		return client.ContainerInspectResult{}, fmt.Errorf("container %s is not of this cluster: %w", id, runtime.ErrNotFound)
	}
	r.owned.add(found.Container.ID, found.Container.Name)
	return found, nil
}
