package gate

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

// Progress is the next state of a run.
type Progress struct {
	Run api.Run
	// Changed reports whether Run differs from the input.
	Changed bool
	// Stop is the reason to stop the run's task; empty if it may continue.
	Stop string
	// After is the time until the answer changes without an event; 0 means never.
	After time.Duration
}

// Follow updates a run from its task's state; attempt is nil if the record of its task is gone. A run that takes too
// long is stopped first, and fails once it has stopped: until then its command may still be working.
func Follow(run api.Run, attempt *once.Attempt, timeout time.Duration, now time.Time) Progress {
	p := Progress{Run: run}
	switch {
	case attempt == nil && run.State.Ended():
		return p
	case attempt == nil:
		return p.fail(api.ReasonLost, "the record of its pod is gone", now)
	case run.State.Ended():
		return p.lateLog(attempt.Status)
	}
	p.Stop, p.After = attempt.Check(once.Limit{At: run.CreatedAt.Add(timeout), Reason: api.ReasonReleaseTimeout}, now)
	p = p.begun(attempt.Status)
	if !attempt.Ended() {
		return p
	}
	return p.end(*attempt, timeout, now)
}

// begun records when the container started.
func (p Progress) begun(status *api.TaskStatus) Progress {
	if status != nil && p.Run.StartedAt.IsZero() && !status.StartedAt.IsZero() {
		p.Run.StartedAt, p.Changed = status.StartedAt, true
	}
	return p
}

// end sets the outcome from a task that ended.
func (p Progress) end(attempt once.Attempt, timeout time.Duration, now time.Time) Progress {
	out := attempt.Outcome()
	if out.At.IsZero() {
		out.At = now
	}
	switch {
	case out.OK:
		p.Run.State, p.Run.FinishedAt, p.Changed = api.RunSucceeded, out.At, true
	case out.Stopped && attempt.Placed && out.Reason == api.ReasonReleaseTimeout:
		p = p.fail(out.Reason, fmt.Sprintf("it did not end within %s and was stopped", timeout), out.At)
	case out.Stopped && attempt.Placed:
		p = p.fail(api.ReasonInterrupted, "it was stopped before its end", out.At)
	default:
		p = p.fail(out.Reason, out.Message, out.At)
	}
	p.Run.ExitCode = out.ExitCode
	return p.lateLog(attempt.Status)
}

// lateLog records the last lines of a failure that was reported without them.
func (p Progress) lateLog(status *api.TaskStatus) Progress {
	if p.Run.State == api.RunFailed && len(p.Run.LastLog) == 0 && status != nil && len(status.LastLog) > 0 {
		p.Run.LastLog, p.Changed = status.LastLog, true
	}
	return p
}

func (p Progress) fail(reason, message string, now time.Time) Progress {
	p.Run.State, p.Run.Reason, p.Run.Message, p.Run.FinishedAt = api.RunFailed, reason, message, now
	p.Changed = true
	return p
}
