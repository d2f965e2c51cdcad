package agent

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of this package.
var (
	// ErrForbidden: a node spoke of what isn't its own.
	ErrForbidden = errors.New("not this node's")
	// ErrNoPod: no container of that name belongs to a task of this node.
	ErrNoPod = errors.New("no such pod on this node")
	// ErrNoRelease: the release a task names is gone.
	ErrNoRelease = errors.New("release is gone")
	// ErrNoAsset: the bytes of a file of an asset are gone.
	ErrNoAsset = errors.New("the file's bytes are gone")

	// ErrNoRate: a rate needs two samples, and there is one.
	ErrNoRate = errors.New("sampled once so far")

	errStreamEnded = errors.New("the engine ended its event stream")
)

// RefusedError names the parts of a report that must not be sent again: the rest was written.
type RefusedError struct {
	Parts []string
	Cause error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("report refused: %s: %v", strings.Join(e.Parts, ", "), e.Cause)
}

func (e *RefusedError) Unwrap() error { return e.Cause }
