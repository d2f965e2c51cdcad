package docker

import (
	"context"
	"strings"

	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
)

var _ runtime.ImageStore = (*Runtime)(nil)

// Images implements runtime.ImageStore.
func (r *Runtime) Images(ctx context.Context) ([]runtime.StoredImage, error) {
	containers, err := r.client.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return nil, r.fault("list containers", err)
	}
	used := map[string]bool{}
	for _, container := range containers.Items {
		used[container.ImageID] = true
	}
	list, err := r.client.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return nil, r.fault("list images", err)
	}
	out := make([]runtime.StoredImage, 0, len(list.Items))
	for _, image := range list.Items {
		stored := runtime.StoredImage{ID: image.ID, Bytes: image.Size, InUse: used[image.ID]}
		for _, tag := range image.RepoTags {
			if tag != "<none>:<none>" {
				stored.Tags = append(stored.Tags, tag)
			}
		}
		for _, name := range image.RepoDigests {
			if _, digest, ok := strings.Cut(name, "@"); ok && name != "<none>@<none>" {
				stored.Digests = append(stored.Digests, digest)
			}
		}
		out = append(out, stored)
	}
	return out, nil
}
