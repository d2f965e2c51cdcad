//go:build linux

package process

import "tend.dev/tend/internal/runtime/process/shim"

// MaybeShim turns this process into a container's shim if that is what it was started for, and doesn't return then. It
// is the first thing in main, and in the TestMain of every test that makes a Runtime.
func MaybeShim() { shim.Maybe() }

// ShimMain is the hidden command `tend shim`; args are what follows these two words.
func ShimMain(args []string) int { return shim.Main(args) }
