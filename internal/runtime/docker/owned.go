package docker

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/runtime"
)

// owned remembers ids known to carry the cluster's label, which never changes in a container's life. It spares the hot
// path (create, start, stop, remove) a call each; an id it doesn't know costs one inspect.
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

// replace forgets all but the listed ones, so that the set stays as large as the node.
func (o *owned) replace(ids map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids = maps.Clone(ids)
}

// own answers the full id of the cluster's container of that id or name; ErrNotFound for any other.
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
