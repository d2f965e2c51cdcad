//go:build !linux

package docker

import (
	"context"

	"tend.dev/tend/internal/node/runtime"
)

// WatchProcesses implements runtime.Runtime. Containers run in the engine's virtual machine here.
func (r *Runtime) WatchProcesses(ctx context.Context, _ []runtime.Container, _ func(runtime.Container)) {
	<-ctx.Done()
}
