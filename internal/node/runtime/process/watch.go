//go:build linux

package process

import (
	"context"

	"tend.dev/tend/internal/node/runtime"
)

// WatchProcesses implements runtime.Runtime. There is nothing to watch: this engine is always available.
func (r *Runtime) WatchProcesses(ctx context.Context, _ []runtime.Container, _ func(runtime.Container)) {
	<-ctx.Done()
}
