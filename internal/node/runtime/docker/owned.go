package docker

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// owned caches the ids of containers with the cluster's label, which never changes in a container's life. It saves one
// call for each create, start, stop and remove; an unknown id costs one inspect.
type owned struct {
	mu  sync.Mutex
	ids map[string]bool
}

func newOwned() *owned { return &owned{ids: map[string]bool{}} }

func (o *owned) add(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids[id] = true
}

func (o *owned) drop(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.ids, id)
}

func (o *owned) has(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ids[id]
}

// replace keeps only the listed ids, so that the set doesn't outgrow the node.
func (o *owned) replace(ids map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids = maps.Clone(ids)
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
		return client.ContainerInspectResult{}, fault("inspect container "+id, err)
	}
	if config := found.Container.Config; config == nil || config.Labels[api.LabelCluster] != r.options.Cluster {
		return client.ContainerInspectResult{}, fmt.Errorf("container %s is not of this cluster: %w", id, runtime.ErrNotFound)
	}
	r.owned.add(found.Container.ID)
	return found, nil
}
