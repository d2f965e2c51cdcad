package nodeapi

import (
	"context"
	"io"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
)

// Node is the server's access to the containers of one node, for users and for measuring. Pods are named by their
// task's id, or by their container's name or id. Errors are those of api/node, internal/node/runtime and
// internal/input/build/buildlog.
type Node interface {
	// List returns every container of the cluster on the node, also those whose task is unknown.
	List(ctx context.Context) ([]runtime.Container, error)
	Logs(ctx context.Context, pod string, opts runtime.LogOptions) (runtime.LogReader, error)
	// KeptLogs returns the logs that the node keeps of an object's removed containers, the newest first; KeptLog reads
	// the one of a container.
	KeptLogs(ctx context.Context, owner api.Ref) ([]node.KeptLog, error)
	KeptLog(ctx context.Context, container string, opts runtime.LogOptions) (runtime.LogReader, error)
	Exec(ctx context.Context, pod string, opts runtime.ExecOptions) (runtime.Exec, error)
	// Stats samples pods at once, in their order; a failed sample carries its error. The rates are of the last moments,
	// those of Load of the time since the last Load.
	Stats(ctx context.Context, pods []string) []runtime.Usage
	Load(ctx context.Context, pods []string) []runtime.Usage
	// Stop stops a pod without marking it to stay stopped: it is started again.
	Stop(ctx context.Context, pod string) error
	// Discard stops and removes a container, whatever it is of. Its volumes stay.
	Discard(ctx context.Context, container string) error
	// BuildLog calls each for every line that a build printed; with follow, until the build ends.
	BuildLog(ctx context.Context, called string, follow bool, each func(line string) error) error
	// FindImage says which image of the node an object of a scope gets by a name. It asks no registry, and returns
	// runtime.ErrNotFound where a request for the image would pull it.
	FindImage(ctx context.Context, scope, name string) (node.FoundImage, error)
	// SaveImage reads an image so that the agent of another node, which may have a part of it, can add it: see
	// SendFrom.
	SaveImage(ctx context.Context, id string, has node.Part) (io.ReadCloser, error)
	// Disk says what lies on the node's disk. With prune it first removes the images that nothing refers to.
	Disk(ctx context.Context, prune bool) (api.NodeDisk, error)
	// Observed reports whether the node's agent has observed a task's container since it started.
	Observed(task string) bool
}
