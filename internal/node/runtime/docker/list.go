package docker

import (
	"context"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// inspectors is the number of containers that List inspects at once: more gains nothing on an engine that answers in
// 0.6 ms.
const inspectors = 4

// List lists the cluster's containers, then inspects each: the list has no restarts, start times or exit codes, and
// doesn't show that they have changed.
func (r *Runtime) List(ctx context.Context) ([]runtime.Container, error) {
	filters := make(client.Filters).Add("label", api.LabelCluster+"="+r.options.Cluster)
	listed, err := r.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, r.fault("list containers", err)
	}
	found := make([]*runtime.Container, len(listed.Items))
	ids := make([]string, len(listed.Items))
	known := make(map[string]string, len(ids))
	for i, item := range listed.Items {
		ids[i] = item.ID
		known[item.ID] = strings.TrimPrefix(slices.Concat(item.Names, []string{""})[0], "/")
	}
	if err := r.inspectAll(ctx, ids, found); err != nil {
		return nil, err
	}
	r.owned.replace(known)
	containers := make([]runtime.Container, 0, len(found))
	for _, container := range found {
		if container != nil {
			containers = append(containers, *container)
		}
	}
	return containers, nil
}

// inspectAll fills in found; a container that was removed meanwhile stays nil.
func (r *Runtime) inspectAll(ctx context.Context, ids []string, found []*runtime.Container) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var group recovery.Group
	for range min(inspectors, len(ids)) {
		group.Go(func() {
			for i := range next {
				if err := recovery.Call(func() error { return r.inspectInto(ctx, ids[i], &found[i]) }, "container",
					ids[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range ids {
		next <- i
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

// inspectInto sets found to a container; one that was removed meanwhile stays nil.
func (r *Runtime) inspectInto(ctx context.Context, id string, found **runtime.Container) error {
	inspected, err := r.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return r.containerFault("inspect", id, err)
	}
	container := r.read(inspected.Container)
	*found = &container
	return nil
}

// Inspect returns one container.
func (r *Runtime) Inspect(ctx context.Context, id string) (runtime.Container, error) {
	inspected, err := r.inspectOwn(ctx, id)
	if err != nil {
		return runtime.Container{}, err
	}
	return r.read(inspected.Container), nil
}
