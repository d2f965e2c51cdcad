package lab

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

// Desired is what is declared, and what people have asked since.
type Desired struct {
	// Deleting is set if it was deleted: all that is left is to remove its tasks.
	Deleting bool
	// Start is when it begins; zero is at once.
	Start time.Time
	// Duration is how long it runs, with every extension.
	Duration time.Duration
	// StoppedBy is who asked for its end; empty if nobody did.
	StoppedBy string
	// Release is what a container is made from now; empty while that isn't known.
	Release string
	// Held says what must be there first; empty if nothing is missing.
	Held string
	// Over is until when a restored store doesn't know what became of it: what was due by then doesn't begin, unless it was
	// Redeclared since. Zero if the store was not restored.
	Over       time.Time
	Redeclared bool
}

// Observed is the observed state.
type Observed struct {
	// Phase is the stored one; empty before the first step.
	Phase api.LabPhase
	// StartedAt is when it became RUNNING.
	StartedAt time.Time
	// Failures counts the containers that could not be started; RetryAt is when the next one may be made.
	Failures int
	RetryAt  time.Time
	// Tried is the release of the last container that was made; empty if none was.
	Tried string
	// Tasks are all of the lab, in any order.
	Tasks []Task
}

// Task is one container of a lab, made or to be made.
type Task struct {
	once.Attempt
	ID string
	// Release is what it is made from, Node where.
	Release, Node string
	// Number counts the lab's containers from 1.
	Number    int
	CreatedAt time.Time
}

// ran reports whether its container was seen to run.
func (t *Task) ran() bool { return t.Status != nil && !t.Status.RunningAt.IsZero() }

// wanted reports whether its container is to run.
func (t *Task) wanted() bool { return t.Desired == api.DesiredRunning }

// Plan is the next step.
type Plan struct {
	// Phase is the one after the step; Reason and Message say why it is in it, or why it still waits.
	Phase           api.LabPhase
	Reason, Message string
	// StartedAt, and Failures with RetryAt, are those after the step.
	StartedAt time.Time
	Failures  int
	RetryAt   time.Time
	// EndsAt is when its time is over; zero before it runs.
	EndsAt time.Time
	// Current is the task whose container is the lab's; nil if there is none.
	Current *Task
	// Waits says in a word what a lab that is due waits for, empty if it waits for nothing.
	Waits Wait
	// Actions are to be carried out together, with the new status.
	Actions []Action
	// After is when to decide again if nothing happens before; 0 is never.
	After time.Duration
}

// Wait says what a lab waits for.
type Wait string

// What a lab may wait for.
const (
	ForStart   Wait = "start"   // its instant
	ForRelease Wait = "release" // its image or its environment
	ForNeed    Wait = "need"    // what it depends on
	ForNode    Wait = "node"    // a node with room
	ForRetry   Wait = "retry"   // the next try to start its container
	ForPerson  Wait = "person"  // another start, after a restore
)

// Verb is what an action does.
type Verb string

// The verbs.
const (
	// StartTask makes a task.
	StartTask Verb = "start-task"
	// StopTask stops a container; it is kept.
	StopTask Verb = "stop-task"
	// RemoveTask stops and removes a container.
	RemoveTask Verb = "remove-task"
	// ForgetTask deletes the record of a task whose container is gone.
	ForgetTask Verb = "forget-task"
)

// Action is one write of a step.
type Action struct {
	Verb Verb
	// Task is what StopTask, RemoveTask and ForgetTask are about.
	Task string
	// Release and Number are those of the task that StartTask makes.
	Release string
	Number  int
	Reason  string
}

// String returns the action as logs and the dry run show it.
func (a Action) String() string {
	switch a.Verb {
	case StartTask:
		return fmt.Sprintf("start container %d with %s", a.Number, a.Release)
	case StopTask:
		return fmt.Sprintf("stop task %s (%s)", a.Task, a.Reason)
	case RemoveTask:
		return fmt.Sprintf("remove task %s (%s)", a.Task, a.Reason)
	case ForgetTask:
		return "forget task " + a.Task
	}
	return string(a.Verb)
}
