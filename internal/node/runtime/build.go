package runtime

import (
	"context"
	"io"
)

// Builder builds images from source. It lists and touches only images that it built.
type Builder interface {
	// Build builds an image and tags it. output gets each line as it comes; a line "Step 2/5 : …" begins a step. It
	// returns a RejectedError if the source is at fault, and a TransientError if the failure may pass. It blocks until
	// the build has ended.
	Build(ctx context.Context, spec BuildSpec, output func(line string)) (Image, error)
	// Built lists the images that were built for the cluster and have a name.
	Built(ctx context.Context) ([]BuiltImage, error)
	// Tag gives an image another name, which an older image may have had.
	Tag(ctx context.Context, image, reference string) error
	// Untag removes a name. The image is removed with its last name; ErrInUse if a container was created from it. A
	// missing name is not an error.
	Untag(ctx context.Context, reference string) error
}

// ImageStore is a runtime whose images others use too.
type ImageStore interface {
	// Images lists all images of the machine, also those that Tend didn't make.
	Images(ctx context.Context) ([]StoredImage, error)
}

// StoredImage is an image on the machine.
type StoredImage struct {
	ID string
	// Tags are the image's names, Digests the registries' digests of it (sha256:…).
	Tags, Digests []string
	Bytes         int64
	// InUse is set if any container, running or not, uses it, also one that isn't Tend's.
	InUse bool
}

// PullSpec describes what to pull.
type PullSpec struct {
	Reference string
	// Confined is set if no admin declared the image: the pull must not have anything call the engine's own machine, its
	// link or networks of its own, and its error quotes nothing that such a place answers.
	Confined bool
}

// BuildSpec is the complete input of a build.
type BuildSpec struct {
	// Tree is the source as a tar with the Dockerfile in it.
	Tree io.Reader
	// Dockerfile is a name in Tree; Bases are the Dockerfile's base images, whose registries may need credentials.
	Dockerfile string
	Bases      []string
	Args       map[string]string
	// Secrets are the values that steps may mount, by their id. They are in no image, and in no output.
	Secrets map[string]string
	// BuildKit is the reason why only BuildKit can build the Dockerfile; nil if a classic builder can too.
	BuildKit error
	Labels   map[string]string
	Tags     []string
	// Confined is set if the source may be hostile: the build must reach neither the engine's own machine nor the images
	// of others.
	Confined bool
	// NoCache builds without the results of earlier builds.
	NoCache bool
}

// BuiltImage is an image that was built here.
type BuiltImage struct {
	ID string
	Origin
	Tags []string
}

// Origin names the build of an image, by the image's labels. It is zero for an image that Tend did not build.
type Origin struct {
	// Owner is the repository (<scope>-<name>), Build the build's id.
	Owner, Build string
	// Scope is the scope of the object; empty if another cluster, or an earlier version of Tend, built the image.
	Scope string
}
