package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// pullFault classifies the error of a failed pull. If the engine has other tags of the repository, the image is most
// likely built locally: the error then names those tags instead of the network's error.
func (r *Runtime) pullFault(ctx context.Context, named reference.Named, err error) error {
	fault := pullFault(r.place(), "image", named, err)
	var passing *runtime.TransientError
	var refused *runtime.RejectedError
	switch {
	case errors.As(fault, &passing) && passing.Reason == "RegistryUnreachable":
		unreached(r.place(), named, r.tags(ctx, named), passing)
	case errors.As(fault, &refused) && (refused.Reason == "ImageNotFound" || refused.Reason == "Unauthorized"):
		if said := missingTag(r.place(), named, r.tags(ctx, named), "has none that it may pull"); said != "" {
			refused.Detail = said
		}
	}
	return fault
}

// unreached returns the error for an image that is not on this machine. An image without a registry in its name may be
// a local one: the next step then is to build it, besides reaching Docker Hub.
func unreached(place string, named reference.Named, tags []string, passing *runtime.TransientError) {
	image, registry := reference.FamiliarString(named), reference.Domain(named)
	said := missingTag(place, named, tags, "can't be reached")
	switch {
	case reference.FamiliarName(named) == "sha256": // it is the id of an image: a registry only knows names
		passing.Detail = fmt.Sprintf("%s has no image with the id %s", place, image)
		passing.Next = "name the image instead, or build it there"
	case strings.HasPrefix(image, registry+"/"):
		passing.Detail = cmp.Or(said, passing.Detail)
	case said != "":
		passing.Detail = said
		passing.Next = fmt.Sprintf("correct the tag, or build the image there: docker build -t %s .", image)
	default:
		_, cause, _ := strings.Cut(passing.Detail, ": ")
		passing.Detail = fmt.Sprintf("%s has no image %s, and can't pull it: %s", place, image, cause)
		passing.Next = fmt.Sprintf("correct `image`, build it there (docker build -t %s .), or let %s reach %s", image,
			place, registry)
	}
}

// tags returns the tags of an image's repository that this node has, the newest first.
func (r *Runtime) tags(ctx context.Context, named reference.Named) []string {
	repository := reference.FamiliarName(named)
	listed, err := r.client.ImageList(ctx,
		client.ImageListOptions{Filters: make(client.Filters).Add("reference", repository)})
	if err != nil {
		return nil
	}
	var tags []string
	for _, image := range listed.Items {
		if image.Labels[api.LabelBuildCluster] != "" {
			continue // an image built here belongs to a scope, and other scopes must not learn of it
		}
		for _, name := range image.RepoTags {
			if tag, ok := strings.CutPrefix(name, repository+":"); ok && !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

// missingTag returns the message that an image is not on a machine although others of its repository are, with the
// registry's error; empty if there are no others.
func missingTag(place string, named reference.Named, tags []string, registry string) string {
	const shown = 5
	if len(tags) == 0 {
		return ""
	}
	if len(tags) > shown {
		tags = append(slices.Clone(tags[:shown]), "…")
	}
	return fmt.Sprintf("%s has no image %s (its tags: %s), and %s %s", place, reference.FamiliarString(named),
		strings.Join(tags, ", "), reference.Domain(named), registry)
}
