//go:build failpoints

package cli

import (
	"tend.dev/tend/internal/server/daemon"
	"tend.dev/tend/internal/test/fault"
)

// failpoints puts those that the environment sets round the store and the runtime of a server.
func failpoints(o *daemon.Options) error {
	points, err := fault.FromEnv()
	o.AroundStore, o.AroundRuntime = points.Store, points.Runtime
	return err
}
