package lab

import (
	"cmp"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

// Desired holds the declaration, and what people have requested since.
type Desired struct {
	// Deleting is set once the lab is deleted. Only the removal of its tasks is left to do.
	Deleting bool
	// Start is the time at which the lab begins; zero means at once.
	Start time.Time
	// Duration is the lab's running time, including every extension.
	Duration time.Duration
	// StoppedBy names the person who asked for the end; empty if nobody did.
	StoppedBy string
	// Release is the release that a new container is made from; empty while it isn't known.
	Release string
	// Held names the dependency that must be ready first; empty if nothing is missing.
	Held string
	// Over is the end of the time of which a restored store knows nothing. A lab due by then doesn't begin, unless it was
	// Redeclared since. Zero if the store was not restored.
	Over       time.Time
	Redeclared bool
}

// Observed is the observed state.
type Observed struct {
	// Phase is the stored phase; empty before the first step.
	Phase api.LabPhase
	// StartedAt is the time at which the lab became RUNNING.
	StartedAt time.Time
	// Failures counts the containers that could not be started. The next one may be made at RetryAt.
	Failures int
	RetryAt  time.Time
	// Tried is the release of the last container; empty before the first one.
	Tried string
	// Tasks are all tasks of the lab, in any order.
	Tasks []Task
}

// Task is one container of a lab, made or to be made.
type Task struct {
	once.Attempt
	ID string
	// Release is the release of the container, Node the node that runs it.
	Release, Node string
	// Number counts the lab's containers from 1.
	Number    int
	CreatedAt time.Time
}

// ran reports whether the container was seen to run.
func (t *Task) ran() bool { return t.Status != nil && !t.Status.RunningAt.IsZero() }

// wanted reports whether the container is desired to run.
func (t *Task) wanted() bool { return t.Desired == api.DesiredRunning }

// Plan is the next step.
type Plan struct {
	// Phase is the phase after the step. Reason and Message say why the lab is in it, or why it still waits.
	Phase           api.LabPhase
	Reason, Message string
	// StartedAt, Failures and RetryAt are the values after the step.
	StartedAt time.Time
	Failures  int
	RetryAt   time.Time
	// EndsAt is the time at which the lab's time is over; zero before it runs.
	EndsAt time.Time
	// Current is the task of the lab's container, or nil.
	Current *Task
	// Waits names what a due lab waits for; empty if it waits for nothing.
	Waits Wait
	// Actions are carried out together, in one write with the new status.
	Actions []Action
	// After is the time until the next decision if nothing happens before; 0 means never.
	After time.Duration
}

// Wait names what a lab waits for.
type Wait string

// The things that a lab may wait for.
const (
	ForStart   Wait = "start"   // its start time
	ForRelease Wait = "release" // its image or its environment
	ForNeed    Wait = "need"    // what it depends on
	ForNode    Wait = "node"    // a node with room
	ForRetry   Wait = "retry"   // the next try to start its container
	ForPerson  Wait = "person"  // another start, after a restore
)

// Verb names what an action does.
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
	// Task is the task that StopTask, RemoveTask or ForgetTask acts on. Pod is its pod's name, for
	// String: it is set on what people are shown.
	Task, Pod string
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
		return fmt.Sprintf("stop pod %s (%s)", cmp.Or(a.Pod, a.Task), a.Reason)
	case RemoveTask:
		return fmt.Sprintf("remove pod %s (%s)", cmp.Or(a.Pod, a.Task), a.Reason)
	case ForgetTask:
		return "forget pod " + cmp.Or(a.Pod, a.Task)
	}
	return string(a.Verb)
}
