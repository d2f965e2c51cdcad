package docker

import (
	"context"
	"maps"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
)

// EnsureVolume makes a volume of the local driver. The engine leaves one that exists as it is, and so do we: a person may
// have made it.
func (r *Runtime) EnsureVolume(ctx context.Context, name string, labels map[string]string) error {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[api.LabelCluster], labels[api.LabelNode] = r.options.Cluster, r.options.Node
	_, err := r.client.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name, Labels: labels})
	return fault("make volume "+name, err)
}

// RemoveVolume never forces: a volume that a container holds stays, and the error says which one that is.
func (r *Runtime) RemoveVolume(ctx context.Context, name string) error {
	_, err := r.client.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	return fault("remove volume "+name, err)
}
