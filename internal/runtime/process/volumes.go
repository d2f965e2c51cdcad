package process

import (
	"context"

	"tend.dev/tend/internal/runtime"
)

// EnsureVolume refuses: what a plain process sees at a path is the host's own.
func (r *Runtime) EnsureVolume(context.Context, string, map[string]string) error {
	return &runtime.RejectedError{
		Reason: "UnsupportedByProcessRuntime", Detail: "plain processes can't honour volume_claims",
		Next: "leave them out and write below the working directory, or run on a node with Docker",
	}
}

// RemoveVolume has nothing to remove.
func (r *Runtime) RemoveVolume(context.Context, string) error { return nil }
