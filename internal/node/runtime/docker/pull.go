package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/node/runtime"
)

// Pull fetches an image with the credentials for its registry. It returns a RejectedError if the reference or the
// credentials are at fault, and a TransientError if the failure may pass.
func (r *Runtime) Pull(ctx context.Context, ref string, report func(percent int)) (runtime.Image, error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return runtime.Image{}, invalidReference(ref, err)
	}
	header, err := r.registryAuth(ctx, named)
	if err != nil {
		return runtime.Image{}, err
	}
	stream, err := r.client.ImagePull(ctx, ref, client.ImagePullOptions{RegistryAuth: header})
	if err != nil {
		return runtime.Image{}, r.pullFault(ctx, named, err)
	}
	defer stream.Close()
	progress := newPullProgress(report)
	for message, err := range stream.JSONMessages(ctx) {
		if err != nil {
			return runtime.Image{}, r.pullFault(ctx, named, err)
		}
		if message.Error != nil {
			return runtime.Image{}, r.pullFault(ctx, named, message.Error)
		}
		progress.add(message)
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

func (r *Runtime) registryAuth(ctx context.Context, named reference.Named) (string, error) {
	auth, ok, err := r.options.Auth(ctx, named.String())
	if err != nil || !ok {
		return "", err
	}
	return authconfig.Encode(registry.AuthConfig{
		Username: auth.Username, Password: auth.Password, IdentityToken: auth.IdentityToken,
		ServerAddress: first(auth.Server, reference.Domain(named)),
	})
}

// pullFault classifies the error of a failed pull.
func pullFault(named reference.Named, err error) error {
	operation := "pull image " + reference.FamiliarString(named)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if unavailable(err) {
		return fault(operation, err)
	}
	detail := operation + ": " + engineText(err)
	for _, row := range pullFaults {
		if !containsAll(detail, row.words) {
			continue
		}
		next := row.next
		if row.registry {
			next = fmt.Sprintf(next, reference.Domain(named))
		}
		if row.transient {
			return &runtime.TransientError{Reason: row.reason, Detail: detail, Next: next}
		}
		return &runtime.RejectedError{Reason: row.reason, Detail: detail, Next: next}
	}
	return &runtime.TransientError{Reason: "PullFailed", Detail: detail,
		Next: "it is tried again; if it stays, try docker pull on the node"}
}

// pullFaults are the engine's messages for failures between it and a registry, the specific before the general.
var pullFaults = []struct {
	words     []string
	reason    string
	transient bool
	next      string
	registry  bool // the registry's name replaces a %s in next
}{
	{words: []string{"manifest unknown"}, reason: "ImageNotFound", next: "correct the name or the tag, or push the image"},
	{words: []string{"no matching manifest"}, reason: "WrongPlatform", next: "push the image for this node's platform"},
	{words: []string{"name unknown"}, reason: "ImageNotFound", next: "correct the name, or push the image"},
	{words: []string{"no basic auth credentials"}, reason: "Unauthorized",
		next: "apply a registry for %s, or docker login there on the node", registry: true},
	{words: []string{"pull access denied"}, reason: "Unauthorized",
		next:     "correct the name; if the repository is private, apply a registry for %s, or docker login there on the node",
		registry: true},
	{words: []string{"unauthorized"}, reason: "Unauthorized",
		next: "check the registry applied for %s, or the node's docker login", registry: true},
	{words: []string{"authentication required"}, reason: "Unauthorized",
		next: "check the registry applied for %s, or the node's docker login", registry: true},
	{words: []string{"incorrect username or password"}, reason: "Unauthorized",
		next: "check the registry applied for %s, or the node's docker login", registry: true},
	{words: []string{"denied"}, reason: "Unauthorized", next: "give the account for %s the right to pull", registry: true},
	{words: []string{"not found"}, reason: "ImageNotFound", next: "correct the name or the tag, or push the image"},
	{words: []string{"http response to https client"}, reason: "InsecureRegistry",
		next: "give %s a certificate, or list it in the engine's insecure-registries", registry: true},
	{words: []string{"x509"}, reason: "UntrustedRegistry",
		next: "install the certificate authority of %s on the node", registry: true},
	{words: []string{"toomanyrequests"}, reason: "RateLimited", transient: true,
		next: "it is tried again; an account at %s may have a higher limit", registry: true},
	{words: []string{"no space left on device"}, reason: "DiskFull", transient: true, next: "free space on the node"},
	{words: []string{"verification failed"}, reason: "BrokenImage", transient: true,
		next: "it is tried again; if it stays, push the image to %s again", registry: true},
	{words: []string{"unexpected eof"}, reason: "PullInterrupted", transient: true,
		next: "it is tried again; check the connection to %s", registry: true},
	{words: []string{"connection reset"}, reason: "PullInterrupted", transient: true,
		next: "it is tried again; check the connection to %s", registry: true},
	{words: []string{"connection refused"}, reason: "RegistryUnreachable", transient: true,
		next: "check that %s runs and the node can reach it", registry: true},
	{words: []string{"no such host"}, reason: "RegistryUnreachable", transient: true,
		next: "check the name %s and the node's DNS", registry: true},
	{words: []string{"dial tcp"}, reason: "RegistryUnreachable", transient: true,
		next: "check that the node can reach %s", registry: true},
	{words: []string{"timeout"}, reason: "RegistryUnreachable", transient: true,
		next: "check that the node can reach %s", registry: true},
	{words: []string{"awaiting headers"}, reason: "RegistryUnreachable", transient: true,
		next: "check that the node can reach %s", registry: true},
	{words: []string{"received unexpected http status: 5"}, reason: "RegistryFailed", transient: true,
		next: "read the log of %s", registry: true},
}
