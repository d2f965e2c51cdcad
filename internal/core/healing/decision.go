package healing

import (
	"strconv"
	"time"

	"tend.dev/tend/api"
)

// Verb says what an action does.
type Verb string

// The actions.
const (
	None   Verb = ""
	Pull   Verb = "pull"   // fetch the image
	Create Verb = "create" // make the container without starting it
	Start  Verb = "start"
	Stop   Verb = "stop"
	Remove Verb = "remove"
	Rejoin Verb = "rejoin" // put the container back on its networks
)

// Action is the next step. Grace belongs to Stop.
type Action struct {
	Verb  Verb
	Grace time.Duration
	// Init names the init container it concerns; empty is the main one. Attempt is which one of it is made.
	Init    string
	Attempt int
}

// String is the line people read.
func (a Action) String() string {
	if a.Verb == None {
		return "nothing"
	}
	text := string(a.Verb)
	if a.Init != "" {
		text += " init " + a.Init
	}
	if a.Attempt > 1 {
		text += " (attempt " + strconv.Itoa(a.Attempt) + ")"
	}
	if a.Verb == Stop {
		text += " (grace " + a.Grace.String() + ")"
	}
	return text
}

// Decision is the next step of one task and what to report of it.
type Decision struct {
	Action Action
	// Status is the next observed half. It is reported where it differs from the last.
	Status api.TaskStatus
	// Forget: the container is gone as desired, and the observed half goes too.
	Forget bool
	// Log names the last lines that Status should carry and does not yet; its zero value where none are wanted. They are to
	// be read beside the workers, and planned with once they are there.
	Log LogWish
	// Look: what is known of the container is too old to decide by. It is to be asked after and planned with again first.
	Look bool
	// Probe: the container runs and stays; its probes are to be asked, and Status.Probes is where they stand.
	Probe bool
	// After is when time alone changes the decision; 0 is never.
	After time.Duration
}

// The reasons a task's status gives.
const (
	ReasonExited            = "Exited"
	ReasonOOMKilled         = "OOMKilled"
	ReasonCrashLoop         = "CrashLoop"
	ReasonRestarting        = "Restarting"
	ReasonStopped           = "Stopped"
	ReasonContainerRemoved  = "ContainerRemoved"
	ReasonCreating          = "Creating"
	ReasonStarting          = "Starting"
	ReasonPulling           = "PullingImage"
	ReasonWaiting           = "WaitingForPredecessor"
	ReasonFrozen            = "Frozen"
	ReasonPluginAtWork      = "PluginAtWork"
	ReasonPaused            = "Paused"
	ReasonDetached          = "NetworkDetached"
	ReasonStopping          = "Stopping"
	ReasonShutdown          = "Shutdown"
	ReasonEngineUnavailable = "EngineUnavailable"
)

// Unreachable is the observed half while the engine doesn't answer: the reason is told, and nothing else changes, for
// the containers may well run.
func Unreachable(status api.TaskStatus, message string) api.TaskStatus {
	if !status.State.Terminal() {
		status.Reason, status.Message = ReasonEngineUnavailable, message
	}
	return status
}
