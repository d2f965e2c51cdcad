package process

import (
	"context"

	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/node/runtime"
)

// EnsureVolume returns an error: a plain process sees the host's own files at a path.
func (r *Runtime) EnsureVolume(context.Context, string, map[string]string) error {
	return &runtime.RejectedError{
		Reason: "UnsupportedByProcessRuntime", Detail: fit.Lacking("volume_claims"),
		Next: fit.LeaveOut("volume_claims") + " and write below the working directory, or run on a node with Docker",
	}
}

// RemoveVolume does nothing, because there are no volumes.
func (r *Runtime) RemoveVolume(context.Context, string, map[string]string) error { return nil }
