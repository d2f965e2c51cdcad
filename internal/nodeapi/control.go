package nodeapi

import (
	"context"
	"io"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// Control is what an agent knows of the control plane: what it reads of its tasks lies in memory, what it writes is its own
// node's observed halves and nothing else. Whatever it asks for that none of its tasks needs is node.ErrForbidden.
type Control interface {
	Assignments
	ImageRequests
	Ingresses
	Reports
	Files
	// Synced closes when what lies in memory is complete.
	Synced() <-chan struct{}
	// Subscribe calls fn for every change from now on, once it can be read. fn must not block.
	Subscribe(fn func(node.Change))
}

// Assignments are the tasks of the node.
type Assignments interface {
	// Tasks are their ids.
	Tasks() []string
	// Task reads one; false where the store knows none of that id on this node.
	Task(id string) (node.Assignment, bool)
	// Release is what the task's container is made from. node.ErrNoRelease where it is gone.
	Release(ctx context.Context, task api.Task) (node.Release, error)
}

// ImageRequests are the images workloads ask for.
type ImageRequests interface {
	// Images are the owners of requests, and of this node's answers to requests that are gone.
	Images() []api.Ref
	Image(owner api.Ref) node.ImageAssignment
	// Registry is how to log in to a registry; false where nothing is declared for its host.
	Registry(ctx context.Context, host string) (node.Registry, bool, error)
}

// Ingresses are what the node's proxy serves. A node without a proxy gets none.
type Ingresses interface {
	// Served is what it should serve now.
	Served() node.Served
	// Certificates keep what the proxy obtained.
	Certificates() certmagic.Storage
	// ReportIngress stores how the proxy is.
	ReportIngress(ctx context.Context, status api.IngressNodeStatus) error
}

// Files are those of assets, and the source trees of builds.
type Files interface {
	// Blob opens the bytes of a digest. node.ErrNoBlob where they are gone.
	Blob(ctx context.Context, digest string) (io.ReadCloser, error)
}

// Reports take what the agent observed.
type Reports interface {
	// Report writes at most 100 parts at once. A part that speaks of what is gone is dropped in silence; a *node.RefusedError
	// says which must not be sent again.
	Report(ctx context.Context, report node.Report) error
	// Alive renews the node's heartbeat, which ends ttl after the last renewal.
	Alive(ctx context.Context, ttl time.Duration) error
}
