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
	fault := pullFault(named, err)
	var passing *runtime.TransientError
	var refused *runtime.RejectedError
	switch {
	case errors.As(fault, &passing) && passing.Reason == "RegistryUnreachable":
		unreached(named, r.tags(ctx, named), passing)
	case errors.As(fault, &refused) && (refused.Reason == "ImageNotFound" || refused.Reason == "Unauthorized"):
		if said := missingTag(named, r.tags(ctx, named), "has none that this node may pull"); said != "" {
			refused.Detail = said
		}
	}
	return fault
}

// unreached returns the error for an image that is not on this machine. An image without a registry in its name may be
// a local one: the next step then is to build it, besides reaching Docker Hub.
func unreached(named reference.Named, tags []string, passing *runtime.TransientError) {
	image, registry := reference.FamiliarString(named), reference.Domain(named)
	said := missingTag(named, tags, "can't be reached")
	if reference.FamiliarName(named) == "sha256" { // it is the id of an image: a registry only knows names
		passing.Detail = fmt.Sprintf("no image with the id %s here", image)
		passing.Next = "name the image instead, or build it on this node"
		return
	}
	if !strings.HasPrefix(image, registry+"/") {
		cause := passing.Detail[strings.LastIndex(passing.Detail, ": ")+1:]
		passing.Detail = cmp.Or(said, fmt.Sprintf("no image %s here, and %s can't be reached:%s", image, registry, cause))
		passing.Next = fmt.Sprintf("correct the name or the tag, build the image on this node (docker build -t %s .), "+
			"or let the node reach %s", image, registry)
	} else if said != "" {
		passing.Detail = said
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

// missingTag returns the message that an image is not on this machine although others of its repository are, with the
// registry's error; empty if there are no others.
func missingTag(named reference.Named, tags []string, registry string) string {
	const shown = 5
	if len(tags) == 0 {
		return ""
	}
	verb := "are"
	if len(tags) == 1 {
		verb = "is"
	}
	if len(tags) > shown {
		tags = append(slices.Clone(tags[:shown]), "…")
	}
	return fmt.Sprintf("no image %s here (%s %s); %s %s", reference.FamiliarString(named), strings.Join(tags, ", "), verb,
		reference.Domain(named), registry)
}
