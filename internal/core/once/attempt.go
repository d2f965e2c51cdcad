package once

import (
	"cmp"
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// Attempt is the single task of an attempt: its desired state and its node's report.
type Attempt struct {
	Desired api.DesiredState
	// Reason and StopAt are the cause and the time of the change of Desired from running. StopAt is zero before that.
	Reason string
	StopAt time.Time
	// Placed reports whether a node was chosen. A task without a node needs no stop once it is unwanted.
	Placed bool
	// Lost is set if its node is down.
	Lost bool
	// Status is nil before the node's first report, and after it has forgotten the task.
	Status *api.TaskStatus
}

// Terminal reports whether the node reported that the task ended.
func (a Attempt) Terminal() bool { return a.Status != nil && a.Status.State.Terminal() }

// Ended reports whether the container certainly doesn't run, or its state can no longer be reported.
func (a Attempt) Ended() bool {
	switch {
	case a.Terminal(), a.Lost:
		return true
	case a.Desired == api.DesiredRunning:
		return false
	case a.Desired == api.DesiredRemoved && a.Status == nil:
		return true
	}
	return !a.Placed
}

// Limit bounds an attempt.
type Limit struct {
	// At is the time by which the attempt must have ended. Zero sets no bound.
	At time.Time
	// Reason is the reason of the stop that follows.
	Reason string
}

// Check returns the reason to stop the attempt now, or an empty one, and the time left until its limit, or 0 if time
// alone changes nothing. A lost attempt is stopped too, in case its node returns.
func (a Attempt) Check(limit Limit, now time.Time) (stop string, after time.Duration) {
	switch {
	case a.Desired != api.DesiredRunning || a.Terminal():
		return "", 0
	case a.Lost:
		return api.ReasonNodeLost, 0
	case limit.At.IsZero():
		return "", 0
	case now.Before(limit.At):
		return "", limit.At.Sub(now)
	}
	return limit.Reason, 0
}

// Outcome is the result of an attempt.
type Outcome struct {
	OK bool
	// Stopped is set if the attempt was stopped before it ended by itself. Reason is then the reason of the stop.
	Stopped bool
	// ExitCode is nil if the node reported none, and for a failed attempt that answered the stop signal with exit code 0.
	ExitCode        *int
	Reason, Message string
	// At is the time of the end; zero if the node didn't report it.
	At time.Time
}

// Outcome returns the outcome of an attempt that has ended.
func (a Attempt) Outcome() Outcome {
	out := Outcome{Reason: a.Reason}
	if a.Status != nil {
		out.ExitCode, out.Message, out.At = a.Status.ExitCode, a.Status.Message, a.Status.FinishedAt
	}
	switch {
	case !a.Terminal() && a.Lost:
		out.Reason, out.Message = api.ReasonNodeLost, "its node is down"
	case !a.Terminal() || a.Status.State == api.TaskShutdown && !a.exitedFirst():
		out.Stopped = true
	case a.Status.State == api.TaskShutdown:
		out.OK = *a.Status.ExitCode == 0
		out.Reason, out.Message = api.ReasonExited, fmt.Sprintf("the container ended with exit code %d", *a.Status.ExitCode)
		if a.Status.OOMKilled {
			out.Reason, out.Message = api.ReasonOOMKilled, "the container ran out of memory"
		}
	default:
		out.OK, out.Reason = a.Status.State == api.TaskComplete, a.Status.Reason
	}
	return out.tidy(a.Placed)
}

// exitedFirst reports whether the container had exited by itself before its stop was requested.
func (a Attempt) exitedFirst() bool {
	s := a.Status
	return s.ExitCode != nil && !a.StopAt.IsZero() && !s.FinishedAt.IsZero() && s.FinishedAt.Before(a.StopAt)
}

// tidy gives every failure a reason, and clears reason and message of a success.
func (o Outcome) tidy(placed bool) Outcome {
	if o.OK {
		o.Reason, o.Message = "", ""
		return o
	}
	o.Reason = cmp.Or(o.Reason, api.ReasonStopped)
	switch {
	case o.Message != "" || !o.Stopped:
	case !placed:
		o.Message = "it was stopped before it had a node"
	default:
		o.Message = "it was stopped"
	}
	if o.ExitCode != nil && *o.ExitCode == 0 {
		o.ExitCode = nil
	}
	return o
}
