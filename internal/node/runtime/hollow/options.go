package hollow

import (
	"io"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// Options configure an engine. The zero value is an engine that does everything without delay, and whose containers run
// until they are stopped.
type Options struct {
	// Cluster and Node are the cluster and the node of the client that New returns. NewEngine ignores them.
	Cluster, Node string
	// CreateDelay, StartDelay and StopDelay return the duration of a create, of a start, and of the stop of a container;
	// PullDelay that of a pull. Nil means no delay.
	CreateDelay, StartDelay, StopDelay, PullDelay func() time.Duration
	// BuildDelay returns the duration of a build.
	BuildDelay func() time.Duration
	// Behaviour returns the behaviour of a spec's containers. It is called at create and again at every start, with the
	// engine locked: it must not call the engine. Nil is a container that runs until it is stopped, or an init container
	// that succeeds at once.
	Behaviour func(spec runtime.ContainerSpec) Behaviour
	// Before is called before every mutating call of a client (create, start, stop, remove, pull, build, tag, untag)
	// with the engine unlocked; the call returns its error, and then has no effect.
	Before func(verb, subject string) error
	// Apart gives each node a machine of its own, with the images and addresses of this one: a node's clients see only its
	// own containers, and names are unique per node.
	Apart bool
	// AnyImage lets every reference name a local image.
	AnyImage bool
	// CPUs and MemoryBytes are the machine's. Default 4 and 8 GiB.
	CPUs        float64
	MemoryBytes int64
}

// Delay returns a function that always returns d.
func Delay(d time.Duration) func() time.Duration {
	return func() time.Duration { return d }
}

// Behaviour describes one incarnation of a container.
type Behaviour struct {
	// Exits is set if the process ends by itself ExitAfter after it started, with ExitCode.
	Exits     bool
	ExitAfter time.Duration
	ExitCode  int
	// OOM: the kernel ends it, for lack of memory (with ExitCode 137).
	OOM bool
	// IgnoresStop: only SIGKILL ends it.
	IgnoresStop bool
	// StopCode is the exit code after a requested stop.
	StopCode int
	// CreateError and StartError are errors that the engine returns instead.
	CreateError, StartError error
	// Output are the lines that it prints to stdout when it starts.
	Output []string
	// Unhealthy is set if every exec in it returns 1. Exec overrides it.
	Unhealthy bool
	// Check is the health check that the image declares.
	Check *runtime.HealthCheck
	// Exec runs a command in the container. Nil returns 0 and prints nothing.
	Exec func(call ExecCall) int
	// Stats are the samples of the container. At is filled in, and CPUTime from CPUPercent (100 is one core) if it is 0.
	Stats      runtime.Stats
	CPUPercent float64
}

// ExecCall is a command run in a container.
type ExecCall struct {
	Options        runtime.ExecOptions
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

func wait(delay func() time.Duration) time.Duration {
	if delay == nil {
		return 0
	}
	return delay()
}
