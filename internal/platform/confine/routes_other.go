//go:build !linux

package confine

import "tend.dev/tend/internal/core/source"

// routes returns none: on other systems containers are in a virtual machine, whose networks this one doesn't route to.
func routes() ([]source.Route, error) { return nil, nil }
