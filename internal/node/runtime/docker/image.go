package docker

import (
	"context"
	"fmt"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/distribution/reference"

	"tend.dev/tend/internal/node/runtime"
)

// Resolve finds a local image by reference or id.
func (r *Runtime) Resolve(ctx context.Context, ref string) (runtime.Image, error) {
	if _, err := reference.ParseAnyReference(ref); err != nil {
		return runtime.Image{}, invalidReference(ref, err)
	}
	found, err := r.client.ImageInspect(ctx, ref)
	if cerrdefs.IsNotFound(err) {
		return runtime.Image{}, fmt.Errorf("image %s: %w", ref, runtime.ErrNotFound)
	}
	if err != nil {
		return runtime.Image{}, r.fault("inspect image "+ref, err)
	}
	image := runtime.Image{ID: found.ID, Reference: ref, Digest: repositoryDigest(ref, found.RepoDigests),
		Arch: found.Architecture}
	if found.Config != nil {
		image.User, image.Origin = found.Config.User, r.origin(found.Config.Labels)
	}
	return image, nil
}

// repositoryDigest returns the digest the image has in the repository of the reference: one image may have several
// names, and several digests under one. It is the reference's own if it names one.
func repositoryDigest(ref string, digests []string) (first string) {
	wanted, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "" // an id names no repository
	}
	pinned, _ := wanted.(reference.Digested)
	for _, text := range digests {
		parsed, err := reference.ParseNormalizedNamed(text)
		if err != nil || parsed.Name() != wanted.Name() {
			continue
		}
		digested, ok := parsed.(reference.Digested)
		switch {
		case !ok:
		case pinned != nil && digested.Digest() == pinned.Digest():
			return digested.Digest().String()
		case first == "":
			first = digested.Digest().String()
		}
	}
	return first
}

func invalidReference(ref string, err error) error {
	return &runtime.RejectedError{
		Reason: "InvalidReference", Detail: fmt.Sprintf("image %q: %v", ref, err),
		Next: "write the image as [registry/]name[:tag]",
	}
}
