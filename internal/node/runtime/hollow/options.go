package hollow

import (
	"io"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// Options configure an engine. The zero value is an engine that does everything without delay, and whose containers run
// until they are stopped.
type Options struct {
	// Cluster and Node are those of the client New returns. NewEngine ignores them.
	Cluster, Node string
	// CreateDelay, StartDelay and StopDelay return the time that a create, a start, and a container asked to stop take.
	// PullDelay returns that of a pull. Nil means no delay.
	CreateDelay, StartDelay, StopDelay, PullDelay func() time.Duration
	// BuildDelay returns the time that a build takes.
	BuildDelay func() time.Duration
	// Behaviour returns what the containers of a spec do. It is called at create and again at every start, with the
	// engine locked: it must not call the engine. Nil is a container that runs until it is stopped, or an init
	// container that succeeds at once.
	Behaviour func(spec runtime.ContainerSpec) Behaviour
	// Before is called before every mutating call of a client (create, start, stop, remove, pull, build, tag, untag)
	// with the engine unlocked; the call returns its error, and then has no effect.
	Before func(verb, subject string) error
	// Apart gives each node a machine of its own, with the images and addresses of this one: its clients see only its
	// own containers, and a name is taken only there.
	Apart bool
	// AnyImage lets every reference name a local image.
	AnyImage bool
	// CPUs and MemoryBytes are the machine's. Default 4 and 8 GiB.
	CPUs        float64
	MemoryBytes int64
}

// Delay returns a fixed one.
func Delay(d time.Duration) func() time.Duration {
	return func() time.Duration { return d }
}

// Behaviour describes what one incarnation of a container does.
type Behaviour struct {
	// Exits: its process ends by itself ExitAfter after it started, with ExitCode.
	Exits     bool
	ExitAfter time.Duration
	ExitCode  int
	// OOM: the kernel ends it, for lack of memory (with ExitCode 137).
	OOM bool
	// IgnoresStop: only SIGKILL ends it.
	IgnoresStop bool
	// StopCode is its exit code after a stop was requested.
	StopCode int
	// CreateError and StartError are errors that the engine returns instead.
	CreateError, StartError error
	// Output is its print on stdout when it starts.
	Output []string
	// Unhealthy: every exec in it returns 1, unless Exec is set.
	Unhealthy bool
	// Check is the health check that its image declares.
	Check *runtime.HealthCheck
	// Exec runs a command in it. Nil returns 0 and prints nothing.
	Exec func(call ExecCall) int
	// Stats are its samples. At is filled in, and CPUTime from CPUPercent (100 is one core) where it is 0.
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
