package runtime

import (
	"context"
	"io"
)

// Builder makes images from source, and speaks of those it made: it touches no others.
type Builder interface {
	// Build makes an image and gives it its tags. output gets each line as it comes; a line "Step 2/5 : …" begins a step. A
	// RejectedError where the source is at fault, a TransientError where it may pass. It blocks for as long as it takes.
	Build(ctx context.Context, spec BuildSpec, output func(line string)) (Image, error)
	// Built lists the images that were built for the cluster and have a name.
	Built(ctx context.Context) ([]BuiltImage, error)
	// Tag gives an image another name, which an older one may have had.
	Tag(ctx context.Context, image, reference string) error
	// Untag takes a name away. The image goes with its last one; ErrInUse where a container is made from it. A name that is
	// gone is no fault.
	Untag(ctx context.Context, reference string) error
}

// BuildSpec is everything an image is built from.
type BuildSpec struct {
	// Tree is the source as a tar with the Dockerfile in it; Folder is the same source, unpacked and checked, which the
	// build may change.
	Tree   io.Reader
	Folder string
	// Dockerfile is a name in Tree; Bases are the images it begins with, for their registries' credentials.
	Dockerfile string
	Bases      []string
	// Language is what the source is in (see build/recipe), Source the folder it lies in, Target what is built of it: for
	// runtimes that build without an engine.
	Language, Source, Target string
	// Command is the declared entrypoint of the language; empty for the usual one.
	Command string
	Args    map[string]string
	Labels  map[string]string
	Tags    []string
	// NoCache uses nothing of earlier builds.
	NoCache bool
}

// BuiltImage is an image that was built here.
type BuiltImage struct {
	ID string
	// Owner and Build are its labels: the repository (<scope>-<name>) and the build's id.
	Owner, Build string
	Tags         []string
}
