package gate

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// Attempt is the one task of a command's run, with both halves. The observed one is nil while nothing was reported.
type Attempt struct {
	Task   *api.Task
	Status *api.TaskStatus
	// Lost is set if the task has not ended and its node is lost.
	Lost bool
}

// Progress is the next state of a run.
type Progress struct {
	Run api.Run
	// Changed reports whether Run differs from the input.
	Changed bool
	// Stop is why the run's task must be stopped; empty if it needn't.
	Stop string
	// After is when the answer changes without an event; 0 is never.
	After time.Duration
}

// Follow updates a run from the state of its task. A run that takes too long is stopped first, and fails once it has
// stopped: until then its command may still be working.
func Follow(run api.Run, attempt Attempt, timeout time.Duration, now time.Time) Progress {
	p := Progress{Run: run}
	deadline := run.CreatedAt.Add(timeout)
	switch {
	case run.State.Ended():
		return p.lateLog(attempt.Status)
	case attempt.Task == nil:
		return p.fail(api.ReasonLost, "the record of its task is gone", now)
	case attempt.Status != nil && attempt.Status.State.Terminal():
		return p.end(attempt, timeout, now)
	case attempt.Lost:
		if attempt.Task.Desired == api.DesiredRunning {
			p.Stop = api.ReasonNodeLost // in case its node returns
		}
		return p.fail(api.ReasonNodeLost, "its node is down", now)
	case attempt.Task.Desired != api.DesiredRunning && attempt.Task.Node == "":
		return p.fail(attempt.Task.Reason, "no node took it in time", now)
	case attempt.Task.Desired != api.DesiredRunning:
		return p // it is being stopped
	case !now.Before(deadline):
		p.Stop = api.ReasonReleaseTimeout
	default:
		p.After = deadline.Sub(now)
	}
	return p.begun(attempt.Status)
}

// begun records when the container started.
func (p Progress) begun(status *api.TaskStatus) Progress {
	if status != nil && p.Run.StartedAt.IsZero() && !status.StartedAt.IsZero() {
		p.Run.StartedAt, p.Changed = status.StartedAt, true
	}
	return p
}

// end sets the outcome from a task that ended. Stopping a task that had already ended by itself is no interruption: its
// own exit counts.
func (p Progress) end(attempt Attempt, timeout time.Duration, now time.Time) Progress {
	status, task := attempt.Status, attempt.Task
	p = p.begun(status)
	p.Run.ExitCode = status.ExitCode
	byItself := status.State != api.TaskShutdown ||
		status.ExitCode != nil && !task.EndedAt.IsZero() && !status.FinishedAt.IsZero() && status.FinishedAt.Before(task.EndedAt)
	switch {
	case byItself && status.ExitCode != nil && *status.ExitCode == 0:
		p.Run.State, p.Run.FinishedAt, p.Changed = api.RunSucceeded, status.FinishedAt, true
		return p
	case !byItself && task.Reason == api.ReasonReleaseTimeout:
		p = p.fail(api.ReasonReleaseTimeout, fmt.Sprintf("it did not end within %s and was stopped", timeout), now)
	case !byItself:
		p = p.fail(api.ReasonInterrupted, "it was stopped before its end", now)
	case status.State == api.TaskShutdown:
		p = p.fail("Exited", fmt.Sprintf("the container ended with exit code %d", *status.ExitCode), now)
	default:
		p = p.fail(status.Reason, status.Message, now)
	}
	p.Run.LastLog = status.LastLog
	if !status.FinishedAt.IsZero() {
		p.Run.FinishedAt = status.FinishedAt
	}
	return p
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
