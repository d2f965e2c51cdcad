package timetable

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
	"tend.dev/tend/internal/core/once"
)

// attempt takes the next step of one run.
func (p *planner) attempt(r *run) {
	if !r.active() {
		p.stopAll(r, api.ReasonReplaced)
		p.correct(r)
		return
	}
	if r.StoppedBy != "" {
		p.interrupt(r)
		return
	}
	if p.Concurrency == api.ConcurrencyReplace && p.newerActive(r) {
		p.stopAll(r, api.ReasonReplaced)
		p.finish(r, api.RunReplaced, nil, api.ReasonReplaced, "a newer run took its place")
		return
	}
	task := r.newest()
	switch {
	case task == nil:
		p.first(r)
	case !task.Ended():
		p.watch(r, task)
	default:
		p.judge(r, task)
	}
}

// newerActive reports whether a later run waits or runs.
func (p *planner) newerActive(r *run) bool {
	for i := len(p.runs) - 1; i >= 0 && p.runs[i].ID != r.ID; i-- {
		if p.runs[i].active() {
			return true
		}
	}
	return false
}

// interrupt ends a run that was stopped on request, once nothing of it runs. An attempt that had succeeded before
// counts.
func (p *planner) interrupt(r *run) {
	p.stopAll(r, api.ReasonStopped)
	task := r.newest()
	switch {
	case task == nil:
		p.finish(r, api.RunFailed, nil, api.ReasonStopped, stoppedBy(r.StoppedBy))
	case !task.Ended():
	case verdictOf(*task).OK:
		p.judge(r, task)
	default:
		p.finish(r, api.RunFailed, verdictOf(*task).ExitCode, api.ReasonStopped, stoppedBy(r.StoppedBy))
	}
}

func stoppedBy(who string) string { return "it was stopped by " + who }

// stopAll stops what still runs of a run that has ended or is to end, including tasks on a node that is down, in case
// that returns.
func (p *planner) stopAll(r *run, why string) {
	for _, task := range r.tasks {
		if stop, _ := task.Check(once.Limit{At: p.now, Reason: why}, p.now); stop != "" {
			p.do(Action{Verb: StopAttempt, Run: r.ID, Task: task.ID, Reason: stop})
		}
	}
}

// first starts a run that has no task yet.
func (p *planner) first(r *run) {
	switch {
	case p.Refused != nil && !p.Refused.At.Before(r.CreatedAt):
		p.refuse(r)
	case (p.Held != "" || p.Release == "") && p.overtaken(r):
		p.finish(r, api.RunReplaced, nil, api.ReasonReplaced, "a newer due time came before it could begin")
	case p.Held != "":
		p.wait(p.Held)
	case p.Release == "":
		p.wait("its image is being looked for")
	default:
		p.start(r, 1, p.Release)
	}
}

// overtaken reports whether the run of a later due time waits too: of many that wait for the same thing one is enough,
// or all would start at once.
func (p *planner) overtaken(r *run) bool {
	return r.Trigger == api.TriggerSchedule && slices.ContainsFunc(p.runs, func(other run) bool {
		return other.active() && other.Trigger == api.TriggerSchedule && other.ScheduledAt.After(r.ScheduledAt)
	})
}

// start begins an attempt, unless another run's container may still exist and only one may. A container on a lost node
// doesn't block an attempt. If the node returns and gets the attempt, its agent stops the earlier container first.
func (p *planner) start(r *run, attempt int, release string) {
	if p.exclusive() {
		for i := range p.runs {
			if other := &p.runs[i]; other.ID != r.ID && p.blocks(other, r) {
				p.wait("run " + other.ID + " has not ended yet")
				return
			}
		}
	}
	p.do(Action{Verb: StartAttempt, Run: r.ID, Attempt: attempt, Release: release, Exclusive: p.exclusive()})
	r.State = api.RunRunning
}

// blocks reports whether other prevents r from starting: it has a container, or has begun, or was created earlier.
func (p *planner) blocks(other, r *run) bool {
	for _, task := range other.tasks {
		if !task.Ended() {
			return true
		}
	}
	if !other.active() {
		return false
	}
	if begun := other.State == api.RunRunning; begun != (r.State == api.RunRunning) {
		return begun
	}
	return other.CreatedAt.Before(r.CreatedAt) || other.CreatedAt.Equal(r.CreatedAt) && other.ID < r.ID
}

func (p *planner) wait(what string) {
	p.plan.Waiting = cmp.Or(p.plan.Waiting, what)
}

// watch stops an attempt that exceeds its timeout, or that no node took in time.
func (p *planner) watch(r *run, task *Task) {
	if !task.Placed && task.Desired == api.DesiredRunning && p.Schedule != nil {
		p.await(r, task)
		return
	}
	if p.Timeout == 0 || task.Status == nil || task.Status.StartedAt.IsZero() {
		return
	}
	limit := once.Limit{At: task.Status.StartedAt.Add(p.Timeout), Reason: api.ReasonTimedOut}
	switch stop, after := task.Check(limit, p.now); {
	case stop != "":
		p.do(Action{Verb: StopAttempt, Run: r.ID, Task: task.ID, Reason: stop})
	case after > 0:
		p.look(limit.At)
	}
}

// await ends a run whose attempt no node took within the starting deadline: under Forbid it would keep all others from
// beginning. It has no container, so nothing of it can run; another attempt would wait for the same node.
func (p *planner) await(r *run, task *Task) {
	wait := max(p.StartingDeadline, punctual)
	if at := task.CreatedAt.Add(wait); deadline.Left(at, p.now, wait) > 0 {
		p.look(at)
		return
	}
	message := fmt.Sprintf("no node took it within %s (starting_deadline)", wait)
	if task.Unplaced != "" {
		message += ": " + task.Unplaced
	}
	p.do(Action{Verb: StopAttempt, Run: r.ID, Task: task.ID, Reason: api.ReasonNoNode})
	p.finish(r, api.RunFailed, nil, api.ReasonNoNode, message)
}

// judge decides what follows the end of an attempt.
func (p *planner) judge(r *run, task *Task) {
	p.stopAll(r, api.ReasonReplaced) // lost tasks, in case their node returns
	verdict := verdictOf(*task)
	switch {
	case verdict.OK:
		p.finish(r, api.RunSucceeded, verdict.ExitCode, "", "")
	case task.Number > p.Retries:
		p.finish(r, api.RunFailed, verdict.ExitCode, verdict.Reason, verdict.say(task.Number, p.Timeout))
	default:
		p.retry(r, task, verdict)
	}
}

// correct gives a run that failed because its node was lost the outcome that the node reported since: that it was lost
// was a guess about its last attempt, and nothing followed it.
func (p *planner) correct(r *run) {
	task := r.newest()
	if r.ended || !guessed(r.Run) || task == nil || !task.Terminal() {
		return
	}
	v := verdictOf(*task)
	a := Action{Verb: CorrectRun, Run: r.ID, State: api.RunFailed, ExitCode: v.ExitCode, Reason: v.Reason,
		Message: v.Message, At: v.at}
	switch {
	case v.OK:
		a.State, a.Message = api.RunSucceeded, "its node was lost, and reported later that it had succeeded"
	case v.Reason == api.ReasonNodeLost:
		return // it still ran when the node returned, and was stopped
	}
	r.State = a.State
	p.do(a)
}

// guessed reports whether a run failed although the end of its last attempt is unknown.
func guessed(r api.Run) bool { return r.State == api.RunFailed && r.Reason == api.ReasonNodeLost }

func (p *planner) retry(r *run, task *Task, v verdict) {
	rest := Backoff(task.Number)
	if at := v.at.Add(rest); deadline.Left(at, p.now, rest) > 0 {
		p.look(at)
		p.wait(fmt.Sprintf("attempt %d of run %s", task.Number+1, r.ID))
		return
	}
	p.start(r, task.Number+1, r.Release)
}

// Backoff returns the wait after the n-th attempt: 1, 2, 4, 8, 16, then 30 s.
func Backoff(n int) time.Duration {
	if n > 5 {
		return 30 * time.Second
	}
	return time.Second << (n - 1)
}

// verdict is the end of an attempt, and the time since which the next one rests.
type verdict struct {
	once.Outcome
	at time.Time
}

func verdictOf(t Task) verdict {
	v := verdict{Outcome: t.Outcome(), at: t.CreatedAt}
	if !v.At.IsZero() {
		v.at = v.At
	}
	return v
}

// say returns the sentence for a person.
func (v verdict) say(attempts int, timeout time.Duration) string {
	text := v.Message
	if v.Reason == api.ReasonTimedOut {
		text = fmt.Sprintf("it ran longer than %s and was stopped", timeout)
	}
	if attempts > 1 {
		text = fmt.Sprintf("%s (attempt %d)", text, attempts)
	}
	return text
}
