package agent

import (
	"errors"
)

// The errors of this package.
var (
	// ErrNoRate means that there is only one sample; a rate needs two.
	ErrNoRate = errors.New("sampled once so far")

	errStreamEnded = errors.New("the engine ended its event stream")
)
