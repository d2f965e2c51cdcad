package timetable

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

// Desired holds what is declared.
type Desired struct {
	// Deleting is set if everything is to be removed.
	Deleting bool
	// Schedule is nil for what runs only on request.
	Schedule *Schedule
	// ScheduleHash identifies schedule and time zone. When it changes, due times count from Since.
	ScheduleHash string
	// Since is the time of the object's last write.
	Since time.Time
	// Over is the time up to which due times are over without a run, since a restored store doesn't know which of them
	// have run. Zero if there is none.
	Over    time.Time
	Suspend bool
	// Concurrency is Allow, Forbid or Replace.
	Concurrency string
	// StartingDeadline is the longest delay with which a due time starts a run, and the time for which an attempt of a
	// scheduled job waits for a node.
	StartingDeadline time.Duration
	// Timeout bounds an attempt, counted from its container's start; 0 for no bound.
	Timeout time.Duration
	// Retries is the number of attempts that may follow the first.
	Retries int
	// KeepSucceeded and KeepFailed are how many ended runs are kept.
	KeepSucceeded, KeepFailed int
	// KeepFailure keeps the run that ended last if it failed, whatever these limits: the release has not run.
	KeepFailure bool
	// Release is the release of a run that starts now; empty while that is unknown.
	Release string
	// Unrun is set if the job runs each of its releases by itself and Release has had no run yet.
	Unrun bool
	// Held says what a run has to wait for before its first attempt, and Refused why it can't have one at all.
	Held    string
	Refused *Refusal
}

// Refusal is the reason why nothing can be started, as of a time: it doesn't apply to runs that came later.
type Refusal struct {
	Reason, Message string
	// Next is the step that helps, if it is known.
	Next string
	At   time.Time
}

// Observed is the observed state.
type Observed struct {
	Timeline Timeline
	// Runs are the runs that are kept, in any order, and Tasks all tasks of the object.
	Runs  []api.Run
	Tasks []Task
}

// Timeline records how far the due times were handled. It is stored in the object's status.
type Timeline struct {
	ScheduleHash string
	// Last is the newest due time that was handled, or when the schedule began. It only grows, unless the clock is
	// behind it.
	Last time.Time
	// Ahead is the newest recorded due time while the clock has not reached it: the clock was ahead, or was set back.
	Ahead time.Time
	// Skipped are spans whose due times were passed over, or lie before the schedule began; the newest last.
	Skipped []api.TimeSpan
	// Over is the newest Desired.Over that was dealt with. Which due times of the span Unknown had run by then is
	// unknown, and so it is of Earlier, the spans of the restores before.
	Over    time.Time
	Unknown api.TimeSpan
	Earlier []api.TimeSpan
	// Missed counts the due times since the schedule began that started no run; LastMissed is the newest of them, and Why
	// the reason.
	Missed     int
	LastMissed time.Time
	Why        string
}

// The reasons why a due time starts no run.
const (
	MissedSuspended = "Suspended" // the cron job was suspended
	MissedLate      = "TooLate"   // the server came too late, or a newer due time was missed with it
	MissedForbidden = "Forbidden" // another run was active
)

// Task is one attempt's container.
type Task struct {
	once.Attempt
	ID string
	// Pod is the container's name.
	Pod       string
	Run       string
	Number    int // of the attempt, from 1
	CreatedAt time.Time
	// Unplaced says why no node takes it; empty if one does, or while that is unknown.
	Unplaced string
}

// Plan is the result of Decide.
type Plan struct {
	Actions []Action
	// Timeline is the next one.
	Timeline Timeline
	// NextRun is the next due time; zero if there is none.
	NextRun time.Time
	// After is the time until the plan changes without an event; 0 means never.
	After time.Duration
	// Active, Succeeded and Failed count the runs as they will be; Waiting says what an active run waits for.
	Active, Succeeded, Failed int
	Waiting                   string
}
