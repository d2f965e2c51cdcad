package docker

import (
	"context"
	"maps"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// EnsureVolume creates a volume of the local driver. Like the engine, it leaves an existing one unchanged, because a
// user may have created it, but it refuses a volume of another claim.
func (r *Runtime) EnsureVolume(ctx context.Context, name string, labels map[string]string) error {
	labels = r.volumeLabels(labels)
	made, err := r.client.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name, Labels: labels})
	if err != nil {
		return r.fault("make volume "+name, err)
	}
	return runtime.CheckVolume(name, made.Volume.Labels, labels)
}

// volumeLabels adds to the labels of a claim those that say whose node its volume is on.
func (r *Runtime) volumeLabels(claim map[string]string) map[string]string {
	labels := maps.Clone(claim)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[api.LabelCluster], labels[api.LabelNode] = r.options.Cluster, r.options.Node
	return labels
}

// OlderVolume returns the predecessor's volume of a claim (voodu-… for tend-…) if it exists and Tend's own volume of
// that name does not. Else it returns "".
func (r *Runtime) OlderVolume(ctx context.Context, name string) (string, error) {
	rest, ours := strings.CutPrefix(name, "tend-")
	if !ours {
		return "", nil
	}
	if there, err := r.volumeExists(ctx, name); there || err != nil {
		return "", err
	}
	older := "voodu-" + rest
	if there, err := r.volumeExists(ctx, older); !there || err != nil {
		return "", err
	}
	return older, nil
}

func (r *Runtime) volumeExists(ctx context.Context, name string) (bool, error) {
	_, err := r.client.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
	if cerrdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, r.fault("inspect volume "+name, err)
}

// RemoveVolume never forces: a volume in use by a container stays, and the error says which container that is.
func (r *Runtime) RemoveVolume(ctx context.Context, name string, labels map[string]string) error {
	there, err := r.client.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return r.fault("inspect volume "+name, err)
	}
	if err := runtime.CheckRemoval(name, there.Volume.Labels, r.volumeLabels(labels)); err != nil {
		return err
	}
	_, err = r.client.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	return r.fault("remove volume "+name, err)
}
