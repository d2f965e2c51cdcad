package agent

import (
	"context"
	"time"

	"tend.dev/tend/api"
)

// Control is what an agent knows of the control plane: what it reads is a picture in memory, what it writes is its own
// node's observed halves and nothing else.
type Control interface {
	Assignments
	ImageRequests
	Reports
	// Synced closes when the picture is complete.
	Synced() <-chan struct{}
	// Subscribe calls fn for every change from now on, after the picture has it. fn must not block.
	Subscribe(fn func(Change))
}

// Assignments are the tasks of the node.
type Assignments interface {
	// Tasks are their ids.
	Tasks() []string
	// Task reads one; false where the store knows none of that id on this node.
	Task(id string) (Assignment, bool)
	// Release is what the task's container is made from. ErrNoRelease where it is gone.
	Release(ctx context.Context, task api.Task) (Release, error)
}

// ImageRequests are the images workloads ask for.
type ImageRequests interface {
	// Images are the owners of requests, and of this node's answers to requests that are gone.
	Images() []api.Ref
	Image(owner api.Ref) ImageAssignment
}

// Reports take what the agent observed.
type Reports interface {
	// Report writes at most 100 parts at once. A part that speaks of what is gone is dropped in silence; a *RefusedError
	// says which must not be sent again.
	Report(ctx context.Context, report Report) error
	// Alive renews the node's heartbeat, which ends ttl after the last renewal.
	Alive(ctx context.Context, ttl time.Duration) error
}

// Assignment is all the control plane says of one task.
type Assignment struct {
	Task api.Task
	// Status is the observed half as stored, where Observed.
	Status   api.TaskStatus
	Observed bool
	// Frozen: an operator stopped the slot on purpose.
	Frozen bool
	// PluginAtWork: a plugin's call works on the object; what it stops stays stopped until the call ends.
	PluginAtWork bool
	// PredecessorOpen: the task named by Task.After exists and has not reported its end.
	PredecessorOpen bool
}

// Release is what a container is made from.
type Release struct {
	ID string
	// Fingerprint is api.Release.Fingerprint.
	Fingerprint string
	Spec        api.DeploymentSpec
	// Dotted is what the containers are called in place of the object's name: see api.LabelDotted. Default: that name.
	Dotted string
	// Claims are the volumes of a statefulset's ordinals.
	Claims      []api.VolumeClaim
	Image       string
	ImageID     string
	ImageDigest string
	// Built: the image was made from source; no registry has it.
	Built bool
	// AssetDigests are the digests of the files the spec refers to, by api.AssetReference.
	AssetDigests map[string]string
	// Env is the merged environment in plain text.
	Env map[string]string
	// SecretFiles are the contents of the files that Spec.SecretFiles declares, by their path.
	SecretFiles map[string]string
}

// ImageAssignment is a request, where Requested, with this node's answer as stored, where Answered.
type ImageAssignment struct {
	Request   api.ImageRequest
	Requested bool
	Status    api.ImageStatus
	Answered  bool
}

// Change names what to look at again: a task, an image request, or every failed pull from a registry whose credentials
// are others now.
type Change struct {
	Task     string
	Image    api.Ref
	Registry string // its host
}

// Report is a batch of observed halves.
type Report struct {
	Tasks  []api.TaskStatus
	Forget []string // tasks whose observed half goes
	Images []api.ImageStatus
	// ForgetImages are answers whose request is gone.
	ForgetImages []api.Ref
	Node         *api.NodeStatus
}
