package healing

import (
	"time"

	"tend.dev/tend/api"
)

// Input is all that decides about one task.
type Input struct {
	// Task is the desired half.
	Task api.Task
	// Status is the observed half as last reported; its zero value where nothing was.
	Status api.TaskStatus
	// Recorded is the container that the stored status names. Status may be ahead of it: a report takes its time.
	Recorded string
	// Container is what is seen now; nil where there is none.
	Container *Container
	// LookedAt is when the container was asked after: what it says was so then, or a little later.
	LookedAt time.Time
	// Cause says what events told of the container's last end, or of its disappearance.
	Cause Cause
	// LastExit is the newest end by itself an event told of, for one that is running again; nil where none is known.
	LastExit *Exit
	// Watched says that events were read without a gap since the container was last looked at, so that every end counted
	// by the engine is a recent one.
	Watched bool
	// Held says that the task named by Task.After may still run.
	Held bool
	// Frozen says that an operator stopped the slot on purpose.
	Frozen bool
	// PluginAtWork says that a plugin's call works on the task's object: a container that is stopped or removed by hand
	// meanwhile stays so until the call ends.
	PluginAtWork bool
	// Grace is how long the container has between the stop signal and the kill.
	Grace time.Duration
	// MemoryLimit is resources.limits.memory as declared; empty is none, or unknown.
	MemoryLimit string
	// Image says whether the image the container is made from is there. Zero: nothing speaks against it.
	Image ImageState
	// Inits are the init containers declared, in order; InitContainers those that are seen.
	Inits          []Init
	InitContainers []InitContainer
	// Probes is what is known of the container's probes; nil where not even that is known whether there are any. Then what
	// was reported of them stays.
	Probes *Probing
	// Log is the reading of last lines that the last decision wished for; nil while there is none.
	Log *LogReading
	// Fault is what came of the last action, nil where it succeeded or was not tried yet.
	Fault *Fault
}

// Probing is what is declared and known of a container's probes.
type Probing struct {
	Declared api.Probes
	// Answers are the phases of one incarnation: Container's, which started at StartedAt. They count for no other.
	Answers   map[string]api.ProbeStatus
	Container string
	StartedAt time.Time
}

// State is what a container is doing.
type State string

// The states of a container.
const (
	Created    State = "created"
	Running    State = "running"
	Paused     State = "paused"
	Restarting State = "restarting" // its restart policy waits before the next start
	Exited     State = "exited"
	Removing   State = "removing"
	Dead       State = "dead" // the engine failed to remove it
)

// Container is what a runtime sees.
type Container struct {
	ID    string
	State State
	// Restart is the engine's policy: no, always, unless-stopped, on-failure[:N].
	Restart string
	// RestartCount is how often that policy restarted it. Starting it by hand sets it back to 0.
	RestartCount int
	// ExitCode and OOMKilled speak of the last end and are valid while it doesn't run.
	ExitCode   int
	OOMKilled  bool
	ImageID    string
	Address    string
	Detached   bool // it was taken off the network it was made for
	PID        int  // 0 while it doesn't run
	Ports      []api.PortBinding
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
}

// live: it runs, or the engine is about to run it.
func (c *Container) live() bool {
	return c != nil && (c.State == Running || c.State == Paused || c.State == Restarting)
}

// Exit is one end of a container.
type Exit struct {
	Code int
	OOM  bool
	At   time.Time
}

// Cause is what is known of who ended or removed a container.
type Cause string

// The causes.
const (
	// CauseUnknown: nobody watched.
	CauseUnknown Cause = ""
	// CauseExit: it ended by itself.
	CauseExit Cause = "exit"
	// CauseHand: it was stopped, killed or removed through the engine.
	CauseHand Cause = "hand"
	// CauseEngine: it ended while the engine itself went away.
	CauseEngine Cause = "engine"
)

// ImageState says whether a container can be made.
type ImageState string

// The states of the image.
const (
	ImageAssumed ImageState = ""        // nothing speaks against it
	ImageMissing ImageState = "missing" // the engine refused for want of it; also while it is being pulled
)

// Fault is an action that failed.
type Fault struct {
	// Rejected: trying again without a change is useless.
	Rejected bool
	// Reason is a CamelCase word, Message for a person, Next the step that helps where it is known.
	Reason  string
	Message string
	Next    string
}
