package process

import (
	"context"
	"fmt"
	"io"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/node/runtime"
)

// unsupported refuses a spec with fields that a plain process can't support. The error names all of them at once.
func unsupported(spec runtime.ContainerSpec) error {
	if spec.Confined { // a plain process can read and run whatever its account can
		return &runtime.RejectedError{
			Reason: api.ReasonUnsupportedByProcessRuntime,
			Detail: "the process runtime isolates nothing: it never runs what a deployer or an untrusted sync declared",
			Next:   "run it on a node with Docker, or delete it and have an admin apply it",
		}
	}
	names := fit.Unsupported(spec.Spec)
	if len(names) == 0 {
		return nil
	}
	return &runtime.RejectedError{
		Reason: api.ReasonUnsupportedByProcessRuntime,
		Detail: fit.Lacking(names...), Next: fit.LeaveOut(names...) + ", or run on a node with Docker",
	}
}

// errOwnImages means that an image can't be sent or received: it is a folder of its machine.
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
