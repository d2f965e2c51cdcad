package agent

import (
	"errors"
)

// The errors of this package.
var (
	// ErrNoPod means that no container of that name belongs to a task of this node.
	ErrNoPod = errors.New("no such pod on this node")
	// ErrNoRate means that there is only one sample; a rate needs two.
	ErrNoRate = errors.New("sampled once so far")

	errStreamEnded = errors.New("the engine ended its event stream")
)
