package timetable

import (
	"slices"
	"time"

	"tend.dev/tend/api"
)

// Record returns a run's record, updated from its tasks: the attempts and their outcomes. Known facts are never
// removed, and an ended run's outcome doesn't change; Record still adds the late end of a stopped container, and of a
// container on a lost node.
func Record(run api.Run, tasks []Task) api.Run {
	run.Attempts = slices.Clone(run.Attempts)
	for _, task := range tasks {
		if task.Run == run.ID {
			note(&run, task)
		}
	}
	return run
}

func note(run *api.Run, task Task) {
	i := slices.IndexFunc(run.Attempts, func(a api.RunAttempt) bool { return a.Task == task.ID })
	if i < 0 {
		run.Attempts = append(run.Attempts, api.RunAttempt{Task: task.ID, Pod: task.Pod})
		i = len(run.Attempts) - 1
	}
	attempt := &run.Attempts[i]
	if s := task.Status; s != nil && !s.StartedAt.IsZero() {
		attempt.StartedAt = s.StartedAt
		if run.StartedAt.IsZero() {
			run.StartedAt = s.StartedAt
		}
	}
	switch {
	case !task.Ended():
		return
	case !attempt.FinishedAt.IsZero() &&
		!(attempt.Reason == api.ReasonNodeLost && attempt.ExitCode == nil && task.Terminal()):
		lateLog(run, task)
		return
	}
	v := verdictOf(task)
	attempt.FinishedAt, attempt.ExitCode, attempt.Reason, attempt.Message = v.at, v.ExitCode, "", ""
	if !v.OK {
		attempt.Reason, attempt.Message = v.Reason, v.Message
		if s := task.Status; s != nil && len(s.LastLog) > 0 {
			run.LastLog = s.LastLog
		}
	}
}

// lateLog records the last lines of the newest attempt if it failed without them: they can come after its end.
func lateLog(run *api.Run, task Task) {
	last := run.Attempts[len(run.Attempts)-1]
	if last.Task == task.ID && last.Reason != "" && run.State != api.RunSucceeded &&
		len(run.LastLog) == 0 && task.Status != nil {
		run.LastLog = task.Status.LastLog
	}
}

// Finish returns a run's record with its outcome.
func Finish(run api.Run, a Action, now time.Time) api.Run {
	if run.State.Ended() {
		return run
	}
	run.State, run.ExitCode, run.Reason, run.Message, run.FinishedAt = a.State, a.ExitCode, a.Reason, a.Message, now
	run.Next = a.Next
	if a.State == api.RunSucceeded {
		run.LastLog = nil
	}
	return run
}

// Correct returns the record of a run whose outcome was a guess with the one that is known now.
func Correct(run api.Run, a Action) api.Run {
	if !guessed(run) {
		return run
	}
	run.State, run.ExitCode, run.Reason, run.Message, run.FinishedAt = a.State, a.ExitCode, a.Reason, a.Message, a.At
	run.Next = a.Next
	if a.State == api.RunSucceeded {
		run.LastLog = nil
	}
	return run
}
