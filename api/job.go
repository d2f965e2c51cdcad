package api

import (
	"time"
)

// Defaults of jobs and cron jobs.
const (
	DefaultSuccessfulHistory = 3
	DefaultFailedHistory     = 1
	DefaultTimezone          = "UTC"
	// DefaultStartingDeadline is the longest delay with which a missed run still begins.
	DefaultStartingDeadline = 5 * time.Minute
)

// JobSpec declares a container that runs to its end when it is asked to. Applying it runs nothing, except with
// RunOnRelease.
type JobSpec struct {
	Container
	// RunOnRelease runs each release of the job once by itself: when the job is first applied, and when its spec,
	// environment or image has changed. Default: it runs when it is asked to. A cron job has none.
	RunOnRelease bool `json:"run_on_release,omitempty" hcl:"run_on_release,optional"`
	// Timeout is the time after which an attempt is stopped and has failed. Default: no limit.
	Timeout Duration `json:"timeout,omitempty" hcl:"timeout,optional"`
	// Retries is the number of further attempts after a failed one, 0 to 10, after 1, 2, 4 … 30 s. Default 0.
	Retries int `json:"retries,omitempty" hcl:"retries,optional"`
	// SuccessfulHistoryLimit is the number of succeeded runs kept, with their containers and logs. Default 3.
	SuccessfulHistoryLimit *int `json:"successful_history_limit,omitempty" hcl:"successful_history_limit,optional"`
	// FailedHistoryLimit is the number of failed runs kept, with their containers and logs. Default 1.
	FailedHistoryLimit *int `json:"failed_history_limit,omitempty" hcl:"failed_history_limit,optional"`
}

// CronJobSpec declares a job and when it runs.
type CronJobSpec struct {
	JobSpec
	// Schedule has five fields (minute hour day-of-month month day-of-week) or is @hourly, @daily, @weekly, @monthly or
	// @yearly.
	Schedule string `json:"schedule" hcl:"schedule"`
	// Timezone is an IANA name. Default UTC.
	Timezone string `json:"timezone,omitempty" hcl:"timezone,optional"`
	// Suspend keeps due runs from starting; they count as missed. Runs asked for by hand still start.
	Suspend bool `json:"suspend,omitempty" hcl:"suspend,optional"`
	// ConcurrencyPolicy is the rule for a due run while another one runs: Allow (default), Forbid or Replace.
	ConcurrencyPolicy string `json:"concurrency_policy,omitempty" hcl:"concurrency_policy,optional"`
	// StartingDeadline is the longest delay with which a due run begins, for instance after a downtime. Of several
	// missed runs only the newest begins. Default 5m; 0s skips missed runs (a delay under 10 s doesn't count).
	StartingDeadline Duration `json:"starting_deadline,omitempty" hcl:"starting_deadline,optional"`
}

// The values of CronJobSpec.ConcurrencyPolicy.
const (
	ConcurrencyAllow   = "Allow"
	ConcurrencyForbid  = "Forbid"
	ConcurrencyReplace = "Replace"
)

// SuccessfulHistory is SuccessfulHistoryLimit with its default.
func (s JobSpec) SuccessfulHistory() int {
	return orDefault(s.SuccessfulHistoryLimit, DefaultSuccessfulHistory)
}

// FailedHistory is FailedHistoryLimit with its default.
func (s JobSpec) FailedHistory() int { return orDefault(s.FailedHistoryLimit, DefaultFailedHistory) }

func orDefault(n *int, fallback int) int {
	if n == nil {
		return fallback
	}
	return *n
}

// JobStatus is the status of a job or a cron job. Its controller alone writes it.
type JobStatus struct {
	// ObservedGeneration and ObservedRevision say which write of the object this status describes.
	ObservedGeneration int64 `json:"observedGeneration"`
	ObservedRevision   int64 `json:"observedRevision"`
	// Release is the newest snapshot, which the next run uses; Image and ImageID what it runs.
	Release           string `json:"release,omitempty"`
	Image             string `json:"image,omitempty"`
	ImageID           string `json:"imageID,omitempty"`
	LastReleaseNumber int    `json:"lastReleaseNumber,omitempty"`
	// Active, Succeeded and Failed count the runs that are kept.
	Active    int `json:"active"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	// LastRun is the id of the newest run; LastState and LastExitCode how it is.
	LastRun      string   `json:"lastRun,omitempty"`
	LastState    RunState `json:"lastState,omitempty"`
	LastExitCode *int     `json:"lastExitCode,omitempty"`
	// ScheduleHash identifies schedule and time zone: when it changes, due times count from then on.
	ScheduleHash string `json:"scheduleHash,omitempty"`
	// LastScheduled is the newest due time that was dealt with, NextRun the next one. Missed counts due times that
	// began no run since the schedule was last changed; LastMissed is the newest of them, and MissedReason says why.
	// LastAhead is set while the clock has not reached the newest due time on record: the clock was ahead, or was set
	// back. Skipped are the times whose due times were passed over: they run if the clock comes to them again.
	// RestoredAt is when due times were last over because of a restore; which of those in RestoredOver had run is
	// unknown, and of RestoredEarlier, the spans of the restores before.
	LastScheduled   time.Time   `json:"lastScheduled,omitzero"`
	LastAhead       time.Time   `json:"lastAhead,omitzero"`
	Skipped         []TimeSpan  `json:"skipped,omitempty"`
	RestoredAt      time.Time   `json:"restoredAt,omitzero"`
	RestoredOver    TimeSpan    `json:"restoredOver,omitzero"`
	RestoredEarlier []TimeSpan  `json:"restoredEarlier,omitempty"`
	NextRun         time.Time   `json:"nextRun,omitzero"`
	Missed          int         `json:"missed,omitempty"`
	LastMissed      time.Time   `json:"lastMissed,omitzero"`
	MissedReason    string      `json:"missedReason,omitempty"`
	Conditions      []Condition `json:"conditions,omitempty"`
}

// TimeSpan is the time between two instants, without them.
type TimeSpan struct {
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before"`
}
