package healing

import (
	"strconv"
	"time"

	"tend.dev/tend/api"
)

// Verb is the kind of an action.
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
	// Init names the init container it is about; empty is the main one. Attempt is its attempt, from 1.
	Init    string
	Attempt int
}

// String returns the line that people read.
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

// Decision is the next step of one task and the status to report.
type Decision struct {
	Action Action
	// Status is the next observed half. It is reported if it differs from the last one.
	Status api.TaskStatus
	// Forget is set if the container is gone as desired: the observed half is deleted too.
	Forget bool
	// Log names the last lines that Status needs and does not have yet; its zero value if none are needed. They are
	// read outside of the workers, followed by another Plan.
	Log LogRequest
	// Inspect is set if the state of the container is too old to decide by. Inspect it and plan again first.
	Inspect bool
	// Probe is set if the container runs and stays up: its probes are to be run, and Status.Probes is their state.
	Probe bool
	// After is the time until the decision changes without an event; 0 means never.
	After time.Duration
}

// Unreachable returns the observed half while the engine doesn't answer: it reports the reason and changes nothing
// else, as the containers may well be running.
func Unreachable(status api.TaskStatus, message string) api.TaskStatus {
	if !status.State.Terminal() {
		status.Reason, status.Message, status.FailingSince = api.ReasonEngineUnavailable, message, time.Time{}
	}
	return status
}
