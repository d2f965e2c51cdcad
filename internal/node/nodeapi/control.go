package nodeapi

import (
	"context"
	"io"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// Control is an agent's access to the control plane: it reads its tasks from memory, and writes only its own node's
// observed halves. A request for anything that none of its tasks needs fails with node.ErrForbidden.
type Control interface {
	Assignments
	ImageRequests
	Ingresses
	Networks
	Reports
	Files
	// Synced returns a channel that is closed when the state in memory is complete.
	Synced() <-chan struct{}
	// Subscribe calls fn for every change from now on, once it can be read. fn must not block.
	Subscribe(fn func(node.Change))
}

// Assignments are the tasks of the node.
type Assignments interface {
	// Tasks returns their ids.
	Tasks() []string
	// Task reads one; false if the store has none of that id on this node.
	Task(id string) (node.Assignment, bool)
	// Release returns what the task's container is made from. It returns node.ErrNoRelease if it is gone.
	Release(ctx context.Context, task api.Task) (node.Release, error)
}

// ImageRequests are the images that workloads request.
type ImageRequests interface {
	// Images returns the owners of requests, and of this node's answers to requests that are gone.
	Images() []api.Ref
	Image(owner api.Ref) node.ImageAssignment
	// ReleaseImage opens the image of a task's release on another node that has it; has is the part that came before:
	// see ReceiveFrom. It returns node.ErrNoImage if no connected node has it.
	ReleaseImage(ctx context.Context, task api.Task, has node.Part) (io.ReadCloser, error)
	// Registry returns how to log in to a registry; false if nothing is declared for its host.
	Registry(ctx context.Context, host string) (node.Registry, bool, error)
	// BuildSecrets returns the values of the secrets that the requested build of an object names. It returns
	// node.ErrNoConfig if one has no value.
	BuildSecrets(ctx context.Context, owner api.Ref) (map[string]string, error)
}

// Ingresses provides the routes of the node's proxy. A node without a proxy gets none.
type Ingresses interface {
	// Served returns what the proxy should serve now.
	Served() node.Served
	// Certificates returns the storage of the certificates that the proxy obtained, as far as the node serves their hosts.
	Certificates() certmagic.Storage
	// Sign returns a certificate by the cluster's own authority, in PEM, for a request (a PKCS #10 in DER) for names of
	// hosts that are declared to have such ones.
	Sign(ctx context.Context, request []byte) ([]byte, error)
	// ReportIngress stores the state of the proxy.
	ReportIngress(ctx context.Context, status api.IngressNodeStatus) error
}

// Networks provides the network between the containers of this node and of other nodes.
type Networks interface {
	// Network returns how the others are reached now. It is not to be written to.
	Network() node.Network
	// Relays returns the relays of other nodes: those that ask, and to a node that serves ingresses all. It is not to
	// be written to.
	Relays() map[string]node.Relay
	// Pods returns those of other nodes by node, if there is a network. It is not to be written to.
	Pods() map[string]node.Pods
	// ReportNetwork stores how the node itself is reached.
	ReportNetwork(ctx context.Context, status api.NetworkNodeStatus) error
	// Resolve returns what a DNS name stands for: <name>.<scope> or <name>-<ordinal>.<scope>, also below the zones tend
	// and voodu.
	Resolve(ctx context.Context, name string) (node.Names, error)
}

// Files are asset files, and the source trees of builds.
type Files interface {
	// Blob opens the content of a digest. It returns node.ErrNoBlob if it is gone.
	Blob(ctx context.Context, digest string) (io.ReadCloser, error)
	// Referred returns which of some digests, images and uids of objects something refers to, or exist, as far as that
	// concerns the node: it may remove what it keeps for others.
	Referred(ctx context.Context, names []string) (map[string]bool, error)
}

// Reports take what the agent observed.
type Reports interface {
	// Report writes at most 100 parts at once. A part about something that is gone is dropped silently; a
	// *node.RefusedError says which parts must not be sent again.
	Report(ctx context.Context, report node.Report) error
	// Alive renews the node's heartbeat, which ends ttl after the last renewal, or earlier if the server allows less.
	Alive(ctx context.Context, ttl time.Duration) error
}
