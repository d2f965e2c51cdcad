package timetable

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// Verb is the kind of an action.
type Verb string

// The actions of a plan.
const (
	// CreateRun creates the run of a due time.
	CreateRun Verb = "create-run"
	// StartAttempt creates a task for a run.
	StartAttempt Verb = "start-attempt"
	// StopAttempt stops a task and keeps its container.
	StopAttempt Verb = "stop-attempt"
	// FinishRun gives a run its last state.
	FinishRun Verb = "finish-run"
	// CorrectRun replaces the outcome of a run whose node was lost by the one that the node reported when it was back.
	CorrectRun Verb = "correct-run"
	// PruneRun deletes a run's record; its tasks are removed with it.
	PruneRun Verb = "prune-run"
	// RemoveTask removes the container of a task that belongs to no run.
	RemoveTask Verb = "remove-task"
	// ForgetTask deletes the record of a task whose container is gone.
	ForgetTask Verb = "forget-task"
	// MarkMissed counts due times that started no run.
	MarkMissed Verb = "mark-missed"
)

// Action is one step. The same value is logged, shown and carried out.
type Action struct {
	Verb Verb
	Run  string
	// Due is the run that CreateRun creates.
	Due *api.Run
	// Task is the subject of StopAttempt, RemoveTask and ForgetTask. Pod is its pod's name, for String: the
	// controller sets it on what it shows.
	Task, Pod string
	// Attempt, Release and Exclusive belong to StartAttempt; see api.Task for the last.
	Attempt   int
	Release   string
	Exclusive bool
	// State, ExitCode, Reason, Message and Next are the outcome that FinishRun and CorrectRun record; Reason also goes
	// with StopAttempt and MarkMissed. At is when the corrected run ended.
	State    api.RunState
	ExitCode *int
	Reason   string
	Message  string
	Next     string
	At       time.Time
	// Count is the number of due times that MarkMissed counts.
	Count int
}

// String returns the line that people read.
func (a Action) String() string {
	switch a.Verb {
	case CreateRun:
		return "create run " + a.Run
	case StartAttempt:
		return fmt.Sprintf("start attempt %d of run %s with %s", a.Attempt, a.Run, a.Release)
	case StopAttempt:
		return fmt.Sprintf("stop pod %s of run %s (%s)", cmp.Or(a.Pod, a.Task), a.Run, a.Reason)
	case FinishRun, CorrectRun:
		verb, _, _ := strings.Cut(string(a.Verb), "-")
		text := fmt.Sprintf("%s run %s: %s", verb, a.Run, a.State)
		if a.Reason != "" {
			text += " (" + a.Reason + ")"
		}
		return text
	case PruneRun:
		return "prune run " + a.Run
	case RemoveTask:
		return "remove pod " + cmp.Or(a.Pod, a.Task)
	case ForgetTask:
		return "forget pod " + cmp.Or(a.Pod, a.Task)
	case MarkMissed:
		return fmt.Sprintf("count %d missed (%s)", a.Count, a.Reason)
	}
	return string(a.Verb)
}
