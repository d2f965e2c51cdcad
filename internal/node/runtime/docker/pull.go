package docker

import (
	"context"
	"fmt"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
)

// Pull fetches an image with the credentials for its registry. It returns a RejectedError if the reference or the
// credentials are at fault, and a TransientError if the failure may pass.
func (r *Runtime) Pull(
	ctx context.Context, spec runtime.PullSpec, report func(percent int),
) (runtime.Image, error) {
	ref := spec.Reference
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return runtime.Image{}, invalidReference(ref, err)
	}
	header, err := r.registryAuth(ctx, named, spec.Confined)
	if err != nil {
		return runtime.Image{}, err
	}
	failed, begun := r.pullFault, false
	if spec.Confined {
		failed = func(ctx context.Context, named reference.Named, err error) error {
			return r.confinedFault(ctx, named, begun, err)
		}
	}
	stream, err := r.client.ImagePull(ctx, ref, client.ImagePullOptions{RegistryAuth: header})
	if err != nil {
		return runtime.Image{}, failed(ctx, named, err)
	}
	defer stream.Close()
	progress := newPullProgress(report)
	for message, err := range stream.JSONMessages(ctx) {
		if err != nil {
			return runtime.Image{}, failed(ctx, named, err)
		}
		if message.Error != nil {
			return runtime.Image{}, failed(ctx, named, message.Error)
		}
		progress.add(message)
		begun = true
	}
	if err := ctx.Err(); err != nil {
		return runtime.Image{}, fmt.Errorf("pull image %s: %w", ref, err)
	}
	image, err := r.Resolve(ctx, ref)
	if err == nil {
		progress.done()
	}
	return image, err
}

// registryAuth returns the credentials for a registry. One that an admin or the node's docker login names is meant,
// wherever it is.
func (r *Runtime) registryAuth(ctx context.Context, named reference.Named, confined bool) (string, error) {
	auth, ok, err := r.options.Auth(ctx, named.String())
	switch {
	case err != nil:
		return "", err
	case !ok && confined:
		return r.confinedAuth(ctx, named)
	case !ok:
		return "", nil
	}
	return authconfig.Encode(registry.AuthConfig{
		Username: auth.Username, Password: auth.Password, IdentityToken: auth.IdentityToken,
		ServerAddress: first(auth.Server, reference.Domain(named)),
	})
}
