package agent

import (
	"errors"
)

// The errors of this package.
var (
	// ErrNoPod: no container of that name belongs to a task of this node.
	ErrNoPod = errors.New("no such pod on this node")
	// ErrNoRate: a rate needs two samples, and there is one.
	ErrNoRate = errors.New("sampled once so far")

	errStreamEnded = errors.New("the engine ended its event stream")
)
