//go:build !linux

package process

import (
	"fmt"

	"tend.dev/tend/internal/runtime"
)

// Runtime is there on Linux alone: its shims live by /proc and by the kernel's care for orphans.
type Runtime struct{ runtime.Runtime }

// New says that this system has no process runtime.
func New(Options) (*Runtime, error) {
	return nil, fmt.Errorf("the process runtime runs on Linux alone: %w", runtime.ErrUnsupported)
}

// MaybeShim does nothing: there are no shims here.
func MaybeShim() {}

// ShimMain refuses.
func ShimMain([]string) int { return 2 }
