//go:build !failpoints

package cli

import "tend.dev/tend/internal/server/daemon"

// failpoints does nothing: only programs that tests build, with the tag failpoints, have any.
func failpoints(*daemon.Options) error { return nil }
