package healing

import (
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
)

// Action is the next step. Grace belongs to Stop.
type Action struct {
	Verb  Verb
	Grace time.Duration
}

// String is the line people read.
func (a Action) String() string {
	switch a.Verb {
	case None:
		return "nothing"
	case Stop:
		return "stop (grace " + a.Grace.String() + ")"
	}
	return string(a.Verb)
}

// Decision is the next step of one task and what to report of it.
type Decision struct {
	Action Action
	// Status is the next observed half. It is reported where it differs from the last.
	Status api.TaskStatus
	// Forget: the container is gone as desired, and the observed half goes too.
	Forget bool
	// WantLog: Status should carry the container's last lines, which it does not have yet.
	WantLog bool
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
	ReasonPaused            = "Paused"
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
