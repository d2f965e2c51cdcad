package rollout

import (
	"time"

	"tend.dev/tend/api"
)

// Version is what a slot runs or should run: a release, under a restart nonce.
type Version struct {
	Release string
	Restart string
}

// Desired is what the workload should be.
type Desired struct {
	// Replicas wanted. Frozen slots fill a place each without running.
	Replicas int
	Target   Version
	// LastGood is the release an automatic rollback would return to; empty where there is none.
	LastGood string
	Strategy api.ResolvedStrategy
	// Frozen are the slots an operator stopped on purpose.
	Frozen map[string]bool
	// Deleting asks for every slot to go.
	Deleting bool
	// KeepDead is how many ended tasks stay for inspection.
	KeepDead int
}

// Slot is one slot with its task, as observed.
type Slot struct {
	ID   string
	Task string
	// Replaces is the slot this one was created to take over from.
	Replaces string
	Version  Version
	Desired  api.DesiredState
	// Placed says whether a node was chosen; Unplaceable that none fits.
	Placed      bool
	Unplaceable bool
	// Observed says whether the agent's half exists.
	Observed  bool
	State     api.TaskState
	Ready     bool
	CrashLoop bool
	Reason    string
	Message   string
	CreatedAt time.Time
	StartedAt time.Time // the current incarnation
	RunningAt time.Time // first
	ReadyAt   time.Time // last
	// EndedAt is when the task ended, or was told to.
	EndedAt time.Time
}

// live: the task is wanted and has not ended.
func (s Slot) live() bool {
	return (s.Desired == api.DesiredRunning || s.Desired == "") && !s.State.Terminal()
}

// failed: the task ended by itself while it was wanted, or was given up for that reason.
func (s Slot) failed() bool {
	return s.State == api.TaskFailed || s.State == api.TaskRejected || s.State == api.TaskComplete
}

// Verb says what an action does.
type Verb string

// The actions of a plan.
const (
	// Create makes a new task in a fresh slot.
	Create Verb = "create"
	// Shutdown stops a task and keeps its container for inspection.
	Shutdown Verb = "shutdown"
	// Remove removes the container of an ended task.
	Remove Verb = "remove"
	// Forget deletes the record of a task whose container is gone.
	Forget Verb = "forget"
	// RollBack turns the workload to its last good release.
	RollBack Verb = "rollback"
)

// Action is one step. The same value is shown by the dry run, carried out by the controller, and told by events.
type Action struct {
	Verb Verb
	// Slot and Task are what the action is about; empty for Create, whose slot is drawn when it is carried out.
	Slot string
	Task string
	// Version is what a created task runs, or what a rollback returns to.
	Version Version
	// Replaces is the slot a created one takes over from; After the task that must have stopped first.
	Replaces string
	After    string
	Reason   string
}

// String is the line people read.
func (a Action) String() string {
	switch a.Verb {
	case Create:
		text := "create a task of " + a.Version.Release
		if a.Replaces != "" {
			text += " in place of slot " + a.Replaces
		}
		if a.After != "" {
			text += ", once that has stopped"
		}
		return withReason(text, a.Reason)
	case Shutdown:
		return withReason("stop slot "+a.Slot, a.Reason)
	case Remove:
		return withReason("remove the container of slot "+a.Slot, a.Reason)
	case Forget:
		return "forget slot " + a.Slot
	case RollBack:
		return withReason("roll back to "+a.Version.Release, a.Reason)
	}
	return string(a.Verb)
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + " (" + reason + ")"
}

// Plan is what to do now, when to look again, and what the state amounts to.
type Plan struct {
	Actions []Action
	// After is when time alone will change the plan; 0 is never.
	After time.Duration
	Phase api.RolloutPhase
	// Reason and Message explain the phase where it is not complete.
	Reason  string
	Message string
	Counts  Counts
}

// Counts are the numbers a status shows.
type Counts struct {
	// Running and Ready count live slots of any version, Updated good ones of the target, Outdated live ones of another.
	Running, Ready, Updated, Outdated, Frozen, Failing int
}
