//go:build linux

package process

import "tend.dev/tend/internal/node/runtime/process/shim"

// MaybeShim turns this process into a container's shim if it was started as one, and then doesn't return. It must be
// the first call in main, and in the TestMain of every test that creates a Runtime.
func MaybeShim() { shim.Maybe() }
