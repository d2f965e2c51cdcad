package rollout

import (
	"strings"
	"time"

	"tend.dev/tend/api"
)

// Verb is the kind of an action.
type Verb string

// The actions of a plan.
const (
	// Create makes a new task: in a fresh slot, or in the ordinal that Slot names. In an ordinal it takes the place of
	// Task, whose container is gone and whose record is deleted in the same step.
	Create Verb = "create"
	// Shutdown stops a task and keeps its container for inspection.
	Shutdown Verb = "shutdown"
	// Remove removes the container of an ended task.
	Remove Verb = "remove"
	// Forget deletes the record of a task whose container is gone.
	Forget Verb = "forget"
	// RollBack returns the workload to its last good release.
	RollBack Verb = "rollback"
)

// Action is one step. The dry run shows it, the controller carries it out, and events report it.
type Action struct {
	Verb Verb
	// Slot and Task are what the action is about; empty for the Create of a slot whose id is drawn when it is carried
	// out.
	Slot string
	Task string
	// Version is the version that a created task runs, or a rollback returns to.
	Version Version
	// Replaces is the slot that a created one takes over from; After the task that must have stopped first.
	Replaces string
	After    string
	// Monitor is the time for which the agent watches a created slot before it reports it steady; 0 for no watch.
	Monitor time.Duration
	// Attempt is the attempt of a created ordinal; NextAttempt is recorded on one that is stopped.
	Attempt, NextAttempt int
	// Failed is recorded on an ordinal that is created or stopped: the last failure, of which the attempt is another.
	Failed *api.TaskFailure
	Reason string
	// Pods begins the names of the workload's pods, for String: the controller sets it on what it shows.
	Pods string
}

// fresh begins the ids of the slots that a forecast makes: they have no pod yet.
const fresh = "new-"

// pod names the pod of a slot.
func (a Action) pod(slot string) string {
	if strings.HasPrefix(slot, fresh) {
		return "the new pod"
	}
	return "pod " + a.Pods + slot
}

// String returns the line that people read.
func (a Action) String() string {
	switch a.Verb {
	case Create:
		text := "create a pod of " + a.Version.Release
		switch {
		case a.Slot != "":
			text = "create " + a.pod(a.Slot) + " of " + a.Version.Release
		case a.Replaces != "" && a.After != "":
			text += " in place of " + a.pod(a.Replaces) + ", once that has stopped"
		case a.Replaces != "":
			text += " in place of " + a.pod(a.Replaces)
		case a.After != "":
			text += ", once one that is stopping has stopped"
		}
		return withReason(text, a.Reason)
	case Shutdown:
		return withReason("stop "+a.pod(a.Slot), a.Reason)
	case Remove:
		return withReason("remove the container of "+a.pod(a.Slot), a.Reason)
	case Forget:
		return "forget " + a.pod(a.Slot)
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
