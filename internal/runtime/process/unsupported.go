package process

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/runtime"
)

// unsupported refuses a spec with fields that a plain process can't support. The error names all of them at once.
func unsupported(spec runtime.ContainerSpec) error {
	if spec.Confined { // a plain process reads and runs whatever its account may
		return &runtime.RejectedError{
			Reason: api.ReasonUnsupportedByProcessRuntime,
			Detail: "the process runtime isolates nothing: what a deployer, or a sync that is not trusted, declared never runs there",
			Next:   "run it on a node with Docker; or have it deleted, and an admin apply it",
		}
	}
	names := fit.Unsupported(spec.Spec)
	if len(names) == 0 {
		return nil
	}
	return &runtime.RejectedError{
		Reason: api.ReasonUnsupportedByProcessRuntime,
		Detail: fmt.Sprintf("plain processes can't honour %s", strings.Join(names, ", ")),
		Next:   "leave them out, or run on a node with Docker",
	}
}

// errOwnImages says that an image is a folder of the machine and nothing else.
var errOwnImages = fmt.Errorf("plain processes run from folders of their own machine: %w", runtime.ErrUnsupported)

// Build implements runtime.Runtime.
func (r *Runtime) Build(context.Context, runtime.BuildSpec, func(line string)) (runtime.Image, error) {
	return runtime.Image{}, &runtime.RejectedError{
		Reason: api.ReasonUnsupportedByProcessRuntime, Detail: fit.NotBuilt, Next: fit.BuildYourself + ", or run on a node with Docker",
	}
}

// Built implements runtime.Runtime: nothing is built here.
func (r *Runtime) Built(context.Context) ([]runtime.BuiltImage, error) { return nil, nil }

// Tag implements runtime.Runtime.
func (r *Runtime) Tag(context.Context, string, string) error { return errOwnImages }

// Untag implements runtime.Runtime: no image has a name of its own.
func (r *Runtime) Untag(context.Context, string) error { return nil }

// SaveImage implements runtime.Runtime.
func (r *Runtime) SaveImage(context.Context, string) (io.ReadCloser, error) { return nil, errOwnImages }

// LoadImage implements runtime.Runtime.
func (r *Runtime) LoadImage(context.Context, string, io.Reader) error { return errOwnImages }
