//go:build !linux

package process

import (
	"fmt"

	"tend.dev/tend/internal/node/runtime"
)

// Runtime exists only on Linux: its shims need /proc and the kernel's subreapers.
type Runtime struct{ runtime.Runtime }

// New returns an error: this system has no process runtime.
func New(Options) (*Runtime, error) {
	return nil, fmt.Errorf("the process runtime runs on Linux alone: %w", runtime.ErrUnsupported)
}

// MaybeShim does nothing: there are no shims here.
func MaybeShim() {}
