package runtime

import (
	"context"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/distribution/reference"

	"tend.dev/tend/api"
)

// Runtime runs containers on one node, for one cluster: it lists and touches only containers whose LabelCluster is its
// own. Every method may be called concurrently.
type Runtime interface {
	// Info describes the engine. An error means it does not answer (ErrUnavailable).
	Info(ctx context.Context) (Info, error)
	// List returns every container of the cluster, running or not.
	List(ctx context.Context) ([]Container, error)
	// Inspect returns one container by id or name. ErrNotFound if there is none.
	Inspect(ctx context.Context, id string) (Container, error)
	// Create creates a container without starting it. It returns the task's existing container of that name unchanged,
	// after joining its network again if it is Detached, and ErrNameTaken if another owner has the name.
	Create(ctx context.Context, spec ContainerSpec) (Container, error)
	// Start starts a created or stopped container, and does nothing to a running one.
	Start(ctx context.Context, id string) error
	// Stop sends the stop signal, waits for the grace period and kills. It blocks until the container has stopped. A
	// stopped or missing container is not an error.
	Stop(ctx context.Context, id string, grace time.Duration) error
	// Remove removes a container, running or not, and its anonymous volumes. A missing container is not an error.
	Remove(ctx context.Context, id string) error
	// EnsureVolume creates a volume of that name with labels, and leaves an existing one unchanged. It returns a
	// RejectedError if the runtime has no volumes, or if CheckVolume refuses the existing one.
	EnsureVolume(ctx context.Context, name string, labels map[string]string) error
	// RemoveVolume removes a volume with its data, unless CheckRemoval refuses. A missing one is not an error, one in use
	// is.
	RemoveVolume(ctx context.Context, name string, labels map[string]string) error
	// Events streams the events of the cluster's containers and of image tags until ctx ends or the engine stops; then the
	// channel closes. The reader then has to list again.
	Events(ctx context.Context) (<-chan Event, error)
	// WatchProcesses calls ended for each of the running containers whose process ends, until ctx does. It asks the
	// machine, not the engine, and so works while the engine doesn't answer. If it can't watch, it only waits. It blocks.
	WatchProcesses(ctx context.Context, running []Container, ended func(Container))

	// Resolve returns the local image of a reference, or ErrNotFound if it is not on this node.
	Resolve(ctx context.Context, reference string) (Image, error)
	// Pull fetches an image and returns it. It calls progress with 0..100, or -1 while sizes are unknown.
	Pull(ctx context.Context, spec PullSpec, progress func(percent int)) (Image, error)
	// SaveImage returns an image's content for LoadImage on another machine, or ErrNotFound if it is not on this node.
	SaveImage(ctx context.Context, id string) (io.ReadCloser, error)
	// LoadImage adds an image that a runtime of the same kind saved. It fails if the content isn't the image of that id.
	LoadImage(ctx context.Context, id string, content io.Reader) error
	Builder

	// Logs streams a container's output.
	Logs(ctx context.Context, id string, opts LogOptions) (LogReader, error)
	// Exec runs a command in a running container.
	Exec(ctx context.Context, id string, opts ExecOptions) (Exec, error)
	// Stats samples a running container once. It doesn't wait; a rate needs two samples.
	Stats(ctx context.Context, id string) (Stats, error)
	// Close frees the client. Containers keep running.
	Close() error
}

// Info describes an engine and its machine.
type Info struct {
	Name        string // docker, process, hollow
	Version     string
	ID          string // the engine's own; empty if the runtime has none
	CPUs        float64
	MemoryBytes int64
	// Warnings are limits of this machine that a user should know, such as a missing cgroup or a low limit of open files.
	Warnings []string
	// DiskPressure is a message that the disk of containers and images is nearly full; empty if it isn't, or can't be
	// seen from here.
	DiskPressure string
	// DiskShort is set while so little of that disk is free that unused images are removed early.
	DiskShort bool
	// Quarantined are the paths of unreadable entries among the containers' files, and the names of undescribed containers
	// with the engine's reason. They are left unchanged.
	Quarantined []string
}

// State is the state of a container.
type State string

// The states of a container.
const (
	StateCreated    State = "created"
	StateRunning    State = "running"
	StatePaused     State = "paused"
	StateRestarting State = "restarting" // its restart policy waits before the next start
	StateExited     State = "exited"
	StateRemoving   State = "removing"
	StateDead       State = "dead"
)

// Container is one container as a runtime observes it.
type Container struct {
	ID     string
	Name   string
	Labels map[string]string
	State  State
	// Restart is the engine's policy: no, always, unless-stopped, on-failure[:N].
	Restart string
	// RestartCount is the number of restarts by that policy.
	RestartCount int
	ExitCode     int
	OOMKilled    bool
	// Error is the engine's message on why the last start failed.
	Error   string
	ImageID string
	Address string // on the platform network, else on any; loopback if it shares the node's network
	// Detached is set if it runs, but was disconnected from the network it was created for. Create joins the network
	// again.
	Detached   bool
	Ports      []api.PortBinding
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	PID        int
	// Check is the health check that the image or the options declare, or nil.
	Check *HealthCheck
	// Undescribed is set if the engine lists the container and fails to inspect it: only its id, name, labels, state,
	// image, address and the time of its creation are known.
	Undescribed bool
}

// HealthCheck is a command that exits with 0 in a container that is well. A zero value of a field is the engine's
// default.
type HealthCheck struct {
	Command                        []string
	Interval, Timeout, StartPeriod time.Duration
	Retries                        int
}

// Task returns the id of the task the container was made for.
func (c Container) Task() string { return c.Labels[api.LabelTask] }

// ContainerSpec is everything a container is created from: the release's spec, resolved.
type ContainerSpec struct {
	// Name is <scope>-<name>.<slot>.
	Name string
	// Labels carry LabelTask and the others; the runtime adds LabelCluster and LabelNode.
	Labels map[string]string
	// ImageID selects the image if it is set; Image is the reference as declared.
	Image   string
	ImageID string
	// Env is the complete environment, besides the image's own.
	Env map[string]string
	// Files of the host are mounted read-only. If one is missing when the container starts, the start fails: nothing is
	// created in its place.
	Files []File
	// Aliases are the DNS names on the platform network.
	Aliases []string
	// Private overrides Spec and its docker_options: the container publishes no port and has no DNS name.
	Private bool
	// Confined: the container may have no part of the host; a runtime that can't see to that refuses it.
	Confined bool
	// Spec is the release's spec: every field that reaches the container is read from here.
	Spec api.DeploymentSpec
	// Restart overrides Spec.Restart ("no" for restart class once and for frozen slots).
	Restart string
}

// AllLabels returns the container's labels on a node: the declared ones, and Tend's own. An engine adds the image's
// labels, so every label of Tend that the container doesn't use is set to "".
func (s ContainerSpec) AllLabels(declared map[string]string, cluster, node string) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, declared)
	for _, name := range api.Labels() {
		labels[name] = ""
	}
	maps.Copy(labels, s.Labels)
	labels[api.LabelCluster], labels[api.LabelNode] = cluster, node
	return labels
}

// File is a file of the host and its path in the container.
type File struct{ Source, Target string }

// Image is a local image.
type Image struct {
	ID        string
	Reference string
	// Digest is the registry's digest (sha256:…), empty for an image that never saw a registry.
	Digest string
	// Arch is the image's architecture in Go's terms, or "" if unknown.
	Arch string
	// User is the user of its containers unless the spec names one: a name or number, with :group or without. Empty means
	// root.
	User string
	// Origin is set for an image that was built from source.
	Origin Origin
}

// OpenTo reports whether an object of a scope may use the image by a reference. Built images share a node's namespace
// with pulled ones, so the build of one scope could be mistaken for another's image: a built image is open to its own
// scope only. An image with the name of a registry, or of an account there, was pulled or named by an operator.
func (i Image) OpenTo(scope, ref string) bool {
	if i.Origin == (Origin{}) || i.Origin.Scope == scope {
		return true
	}
	named, err := reference.ParseNormalizedNamed(ref)
	return err == nil && strings.Contains(reference.FamiliarName(named), "/")
}

// LogOptions choose lines of a log.
type LogOptions struct {
	Follow bool
	// Since drops older lines; zero keeps all.
	Since time.Time
	// Tail keeps the last n lines; negative keeps all.
	Tail int
}

// LogLine is one line of output.
type LogLine struct {
	Stream string // stdout or stderr
	At     time.Time
	Text   string
	// Part is set if the line was too long to be returned at once: the next line of this stream continues it.
	Part bool
}

// LogReader yields lines in order; io.EOF at the end.
type LogReader interface {
	Next() (LogLine, error)
	Close() error
}

// ExecOptions describe a command to run in a container.
type ExecOptions struct {
	Command    []string
	Env        []string
	User       string
	WorkingDir string
	TTY        bool
	Stdin      bool
	// Width and Height of the terminal, 0 if there is none.
	Width, Height int
}

// Exec is a running command. With a TTY, Stdout carries all of its output.
type Exec interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	Resize(ctx context.Context, width, height int) error
	// Wait returns the exit code after the output ended.
	Wait(ctx context.Context) (int, error)
	Close() error
}

// Stats is one sample of a container's resource usage.
type Stats struct {
	// CPUTime is the CPU time it used since it started, over all processors.
	CPUTime                             time.Duration
	MemoryBytes                         int64
	MemoryLimit                         int64
	PIDs                                int
	NetRx, NetTx, BlockRead, BlockWrite int64
	At                                  time.Time
}

// Usage is a sample with the rate since the previous one. If Err is set, there is no sample.
type Usage struct {
	Stats
	CPUPercent float64 // 100 is one core
	Err        error
}
