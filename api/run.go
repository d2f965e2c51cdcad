package api

import "time"

// RunState is the state of a run.
type RunState string

// The states of a run. It moves forward only.
const (
	RunPending   RunState = "pending"   // its container is not asked for yet: the image, or a dependency, is awaited
	RunRunning   RunState = "running"   // an attempt is under way, or its successor waits
	RunSucceeded RunState = "succeeded" // an attempt exited with 0
	RunFailed    RunState = "failed"    // the last attempt failed, ran out of time, or was lost
	RunReplaced  RunState = "replaced"  // a newer run took its place (concurrency_policy Replace)
)

// Ended reports whether the state is final.
func (s RunState) Ended() bool { return s == RunSucceeded || s == RunFailed || s == RunReplaced }

// The values of Run.Trigger.
const (
	TriggerSchedule = "schedule" // a cron job's due time
	TriggerManual   = "manual"   // a person asked
	TriggerRelease  = "release"  // a release's command
	TriggerDeclared = "declared" // a job with run_on_release was declared or changed
)

// Run is one execution of a job, of a cron job's due time, or of a release's command. It is created, if absent, before
// its container, so that neither a crash nor a second server runs it twice. Its creator writes it once. After that
// only the controller of its owner writes it, except StoppedBy.
type Run struct {
	// ID is unique under the owner: the due time (20261121T143000Z), m-<8 hex> for one asked for by hand, or
	// <release>-pre, -command, -post, -deploy, or -run for a job's own.
	ID    string `json:"id"`
	Kind  Kind   `json:"kind"`
	Scope string `json:"scope"`
	Name  string `json:"name"`
	// Trigger is the cause of the run, By the user who asked for it.
	Trigger string `json:"trigger"`
	By      string `json:"by,omitempty"`
	// StoppedBy is the user who asked to stop the run. Its container is stopped, and no attempt follows.
	StoppedBy string `json:"stoppedBy,omitempty"`
	// Release is the snapshot it runs; empty while it is pending.
	Release     string    `json:"release,omitempty"`
	ScheduledAt time.Time `json:"scheduledAt,omitzero"`
	CreatedAt   time.Time `json:"createdAt"`
	State       RunState  `json:"state"`
	// Attempts are its tasks, oldest first.
	Attempts []RunAttempt `json:"attempts,omitempty"`
	// ExitCode is the last attempt's.
	ExitCode *int   `json:"exitCode,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	// Next is the step that helps a run that could not begin, if it is known.
	Next       string    `json:"next,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// LastLog holds the last lines of an attempt that failed, at most 20.
	LastLog []string `json:"lastLog,omitempty"`
}

// RunAttempt is one container of a run.
type RunAttempt struct {
	Task string `json:"task"`
	// Pod is the container's name, to read its logs.
	Pod        string    `json:"pod"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	ExitCode   *int      `json:"exitCode,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Message    string    `json:"message,omitempty"`
}

// Owner names the object that runs.
func (r Run) Owner() Ref { return Ref{Kind: r.Kind, Scope: r.Scope, Name: r.Name} }

// RunResult is the answer of the verb run: the requested run.
type RunResult struct {
	Run      Run   `json:"run"`
	Revision int64 `json:"revision"`
}
