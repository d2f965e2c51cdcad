package docker

import (
	"context"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// Built lists the images with the cluster's label. An image that a user derived from such an image has the label too,
// under names that none of Tend's builds uses.
func (r *Runtime) Built(ctx context.Context) ([]runtime.BuiltImage, error) {
	list, err := r.client.ImageList(ctx, client.ImageListOptions{
		Filters: make(client.Filters).Add("label", api.LabelBuildCluster+"="+r.options.Cluster).Add("dangling", "false"),
	})
	if err != nil {
		return nil, r.fault("list built images", err)
	}
	var out []runtime.BuiltImage
	for _, image := range list.Items {
		built := runtime.BuiltImage{ID: image.ID, Origin: r.origin(image.Labels)}
		for _, tag := range image.RepoTags {
			if strings.HasSuffix(tag, ":"+built.Build) || strings.HasSuffix(tag, ":latest") {
				// also names by other objects that share the image
				built.Tags = append(built.Tags, tag)
			}
		}
		if built.Owner != "" && len(built.Tags) > 0 {
			out = append(out, built)
		}
	}
	return out, nil
}

// origin reads the build of an image from its labels.
func (r *Runtime) origin(labels map[string]string) runtime.Origin {
	origin := runtime.Origin{Owner: labels[api.LabelBuildOwner], Build: labels[api.LabelBuildID]}
	if labels[api.LabelBuildCluster] == r.options.Cluster {
		origin.Scope = labels[api.LabelBuildScope]
	}
	return origin
}

// Tag adds a name to an image.
func (r *Runtime) Tag(ctx context.Context, image, reference string) error {
	_, err := r.client.ImageTag(ctx, client.ImageTagOptions{Source: image, Target: reference})
	return r.fault("tag image "+reference, err)
}

// Untag removes a name of an image.
func (r *Runtime) Untag(ctx context.Context, reference string) error {
	_, err := r.client.ImageRemove(ctx, reference, client.ImageRemoveOptions{PruneChildren: true})
	switch {
	case cerrdefs.IsNotFound(err):
		return nil
	case cerrdefs.IsConflict(err):
		return runtime.ErrInUse
	}
	return r.fault("remove image "+reference, err)
}
