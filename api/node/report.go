package node

import (
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// MaxReport is the most parts that a report may have.
const MaxReport = 100

// MaxReferred is the most names that a node may ask about at once.
const MaxReferred = 1000

// Report is a batch of observed halves.
type Report struct {
	Tasks  []api.TaskStatus  `json:"tasks,omitempty"`
	Forget []string          `json:"forget,omitempty"` // tasks whose observed half goes
	Images []api.ImageStatus `json:"images,omitempty"`
	// ForgetImages are answers whose request is gone.
	ForgetImages []api.Ref       `json:"forgetImages,omitempty"`
	Node         *api.NodeStatus `json:"node,omitempty"`
}

// Parts returns how many parts a report has.
func (r Report) Parts() int {
	parts := len(r.Tasks) + len(r.Forget) + len(r.Images) + len(r.ForgetImages)
	if r.Node != nil {
		parts++
	}
	return parts
}

// The errors between a server and its nodes.
var (
	// ErrForbidden: a node spoke of what isn't its own, or asked for it.
	ErrForbidden = errors.New("not this node's")
	// ErrNoRelease: the release a task names is gone.
	ErrNoRelease = errors.New("release is gone")
	// ErrNoImage: no connected node has the image.
	ErrNoImage = errors.New("no node that is connected has the image")
	// ErrNoBlob: the bytes of a digest are gone.
	ErrNoBlob = errors.New("the file's bytes are gone")
	// ErrNoConfig: a config key has no value.
	ErrNoConfig = errors.New("there is no config key")
	// ErrNoPod: no container of that name belongs to a task of the node.
	ErrNoPod = errors.New("no such pod on this node")
	// ErrNotConnected: the node's agent isn't connected to the server.
	ErrNotConnected = errors.New("the node is not connected")
	// ErrPaused: the server changes nothing at the moment.
	ErrPaused = errors.New("the server is paused")
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
