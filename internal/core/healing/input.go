package healing

import (
	"time"

	"tend.dev/tend/api"
)

// Input is everything the decision about one task depends on.
type Input struct {
	// Task is the desired half.
	Task api.Task
	// Status is the observed half as last reported; its zero value if nothing was.
	Status api.TaskStatus
	// Recorded is the container that the stored status names. Status may be ahead of it: a report takes time.
	Recorded string
	// Container is the container observed now; nil if there is none.
	Container *Container
	// InspectedAt is the time of the inspection. The container's state is from that time or slightly later.
	InspectedAt time.Time
	// Cause is the cause of the container's last end, or its disappearance, by the events.
	Cause Cause
	// LastExit is the newest exit that an event reported, of a container that is running again; nil if none is known.
	LastExit *Exit
	// Watched is set if events were read without a gap since the last inspection, so that every end counted by the
	// engine is recent.
	Watched bool
	// Held is set if the task named by Task.After may still run.
	Held bool
	// Occupied is set while another container of the ordinal is on the node, which is about to go: it has the name.
	Occupied bool
	// Frozen is set if a person stopped the slot on purpose.
	Frozen bool
	// PluginAtWork is set if a plugin's call works on the task's object: a container that is stopped or removed by hand
	// meanwhile stays so until the call ends.
	PluginAtWork bool
	// Grace is the time between the stop signal and the kill.
	Grace time.Duration
	// MemoryLimit is resources.limits.memory as declared; empty if there is no limit, or it is unknown.
	MemoryLimit string
	// Image is the state of the container's image on the node. The zero value means that it exists.
	Image ImageState
	// Inits are the declared init containers, in order; InitContainers the observed ones.
	Inits          []Init
	InitContainers []InitContainer
	// Probes is the state of the container's probes; nil if it is unknown whether there are any. Then the reported
	// state stays.
	Probes *Probing
	// Log is the reading of last lines that the last decision asked for; nil if there is none.
	Log *LogReading
	// FailedStarts is the number of starts of the container that failed in a row, FailedSince the time of the first.
	FailedStarts int
	FailedSince  time.Time
	// Beside is a fault of a running container that is ready: another program writes to its volume. Nil if none does.
	Beside *Fault
	// Fault is the failure of the last action, nil if it succeeded or was not tried yet.
	Fault *Fault
}

// Probing is the declaration and the state of a container's probes.
type Probing struct {
	Declared api.Probes
	// Answers are the phases of one incarnation: Container's, which started at StartedAt. They are valid for no other.
	Answers   map[string]api.ProbeStatus
	Container string
	StartedAt time.Time
	// Source says where the readiness probe comes from if no manifest declares it; see api.ProbeStatus.
	Source string
	// Grace is the time after its start in which failures of that probe don't count.
	Grace time.Duration
}

// State is the state of a container.
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

// Container is a container as a runtime observes it.
type Container struct {
	ID    string
	State State
	// Restart is the engine's policy: no, always, unless-stopped, on-failure[:N].
	Restart string
	// RestartCount is the number of restarts by that policy. Starting it by hand resets it to 0.
	RestartCount int
	// ExitCode and OOMKilled are about the last end. They are valid while it doesn't run.
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

// live reports whether the container runs, or the engine is about to run it.
func (c *Container) live() bool {
	return c != nil && (c.State == Running || c.State == Paused || c.State == Restarting)
}

// Exit is one end of a container.
type Exit struct {
	Code int
	OOM  bool
	At   time.Time
}

// Cause is the cause of a container's end or removal.
type Cause string

// The causes.
const (
	// CauseUnknown means that nothing was observed.
	CauseUnknown Cause = ""
	// CauseExit means that it exited by itself.
	CauseExit Cause = "exit"
	// CauseHand means that it was stopped, killed or removed through the engine.
	CauseHand Cause = "hand"
	// CauseEngine means that it ended while the engine itself stopped.
	CauseEngine Cause = "engine"
)

// ImageState is the state of a container's image on the node.
type ImageState string

// The states of the image.
const (
	ImageAssumed ImageState = ""        // no sign that it is missing
	ImageMissing ImageState = "missing" // the engine refused for lack of it; also while it is being pulled
)

// Fault is an action that failed.
type Fault struct {
	// Rejected is set if a retry without a change is useless.
	Rejected bool
	// Reason is a CamelCase word, Message is for a person, Next is the step that helps if it is known.
	Reason  string
	Message string
	Next    string
}
