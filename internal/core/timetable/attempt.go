package timetable

import (
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
)

// attempt takes the next step of one run.
func (p *planner) attempt(r *run) {
	if !r.active() {
		p.stopAll(r, api.ReasonReplaced)
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
	case verdictOf(*task).ok:
		p.judge(r, task)
	default:
		p.finish(r, api.RunFailed, verdictOf(*task).code, api.ReasonStopped, stoppedBy(r.StoppedBy))
	}
}

func stoppedBy(who string) string { return "it was stopped by " + who }

// stopAll stops what still runs of a run that has ended or is to end, including tasks on a node that is down, in case
// that returns.
func (p *planner) stopAll(r *run, why string) {
	for _, task := range r.tasks {
		switch {
		case task.Desired != api.DesiredRunning || task.terminal():
		case task.Lost:
			p.do(Action{Verb: StopAttempt, Run: r.ID, Task: task.ID, Reason: api.ReasonNodeLost})
		default:
			p.do(Action{Verb: StopAttempt, Run: r.ID, Task: task.ID, Reason: why})
		}
	}
}

// first starts a run that has no task yet.
func (p *planner) first(r *run) {
	switch {
	case p.Refused != nil && !p.Refused.At.Before(r.CreatedAt):
		p.finish(r, api.RunFailed, nil, p.Refused.Reason, p.Refused.Message)
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

// start begins an attempt, unless another run's container may still exist and only one may.
func (p *planner) start(r *run, attempt int, release string) {
	if p.exclusive() {
		for i := range p.runs {
			if other := &p.runs[i]; other.ID != r.ID && p.stands(other, r) {
				p.wait("run " + other.ID + " has not ended yet")
				return
			}
		}
	}
	p.do(Action{Verb: StartAttempt, Run: r.ID, Attempt: attempt, Release: release})
	r.State = api.RunRunning
}

// stands reports whether a run blocks another: it has a container, or has begun, or came first.
func (p *planner) stands(other, r *run) bool {
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
	if p.plan.Waiting == "" {
		p.plan.Waiting = what
	}
}

// watch stops an attempt that exceeds its timeout.
func (p *planner) watch(r *run, task *Task) {
	if p.Timeout == 0 || task.Desired != api.DesiredRunning || task.Status == nil || task.Status.StartedAt.IsZero() {
		return
	}
	if end := task.Status.StartedAt.Add(p.Timeout); p.now.Before(end) {
		p.look(end)
		return
	}
	p.do(Action{Verb: StopAttempt, Run: r.ID, Task: task.ID, Reason: api.ReasonTimedOut})
}

// judge decides what follows the end of an attempt.
func (p *planner) judge(r *run, task *Task) {
	p.stopAll(r, api.ReasonReplaced) // lost tasks, in case their node returns
	verdict := verdictOf(*task)
	switch {
	case verdict.ok:
		p.finish(r, api.RunSucceeded, verdict.code, "", "")
	case task.Attempt > p.Retries:
		p.finish(r, api.RunFailed, verdict.code, verdict.reason, verdict.say(task.Attempt, p.Timeout))
	default:
		p.retry(r, task, verdict)
	}
}

func (p *planner) retry(r *run, task *Task, v verdict) {
	rest := Backoff(task.Attempt)
	if at := v.at.Add(rest); p.now.Before(at) && at.Sub(p.now) <= rest+clockSkew {
		p.look(at)
		p.wait(fmt.Sprintf("attempt %d of run %s", task.Attempt+1, r.ID))
		return
	}
	p.start(r, task.Attempt+1, r.Release)
}

// clockSkew is how far a node's clock may be ahead. An end that lies further in the future was reported before the
// clock was set back, and delays nothing.
const clockSkew = 30 * time.Second

// Backoff returns the wait after the n-th attempt: 1, 2, 4, 8, 16, then 30 s.
func Backoff(n int) time.Duration {
	if n > 5 {
		return 30 * time.Second
	}
	return time.Second << (n - 1)
}

// verdict is how an attempt ended.
type verdict struct {
	ok              bool
	code            *int
	reason, message string
	at              time.Time
}

func verdictOf(t Task) verdict {
	v := verdict{reason: t.Reason, at: t.CreatedAt}
	s := t.Status
	if s != nil {
		v.code, v.message = s.ExitCode, s.Message
		if !s.FinishedAt.IsZero() {
			v.at = s.FinishedAt
		}
	}
	switch {
	case s != nil && s.State == api.TaskComplete:
		v.ok = true
	case s != nil && s.State.Terminal() && s.State != api.TaskShutdown:
		v.reason = s.Reason
	case s == nil || !s.State.Terminal():
		if t.Lost {
			v.reason, v.message = api.ReasonNodeLost, "its node is down"
		}
	}
	if v.reason == "" {
		v.reason = api.ReasonStopped
	}
	if !v.ok && v.code != nil && *v.code == 0 {
		v.code = nil // it answers Tend's stop signal, and is no success
	}
	return v
}

// say returns the sentence for a person.
func (v verdict) say(attempts int, timeout time.Duration) string {
	text := v.message
	switch {
	case v.reason == api.ReasonTimedOut:
		text = fmt.Sprintf("it ran longer than %s and was stopped", timeout)
	case text == "":
		text = "it was stopped"
	}
	if attempts > 1 {
		text = fmt.Sprintf("%s (attempt %d)", text, attempts)
	}
	return text
}
