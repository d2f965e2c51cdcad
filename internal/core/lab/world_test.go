package lab

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/lab/labtest"
	"tend.dev/tend/internal/core/once"
)

var epoch = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

// world is a lab with a node, a scheduler and a store. It carries out plans and checks the promises.
type world struct {
	now     time.Time
	desired Desired
	stored  Observed
	tasks   []*container
	made    int
	// lasts and code set how long a container runs and its exit code, takes how long it takes to start, stopping how long
	// it takes to stop, and rejects how many containers can't be started.
	lasts, takes, stopping time.Duration
	code, rejects          int
	full, lost             bool
	fault                  string
	log                    func(format string, args ...any)
	// next is the time of the next change that needs no decision.
	next      time.Time
	decisions int
}

type container struct {
	Task
	// begins is when the container runs, ends when it ends by itself, stops when a requested stop is done.
	begins, ends, stops time.Time
	rejected            bool
	status              api.TaskStatus
	reported            bool
}

func newWorld() *world {
	return &world{
		now: epoch, desired: Desired{Duration: time.Hour, Release: "v1"}, lasts: 1000 * time.Hour, takes: time.Second,
		log: func(string, ...any) {},
	}
}

func (w *world) blame(format string, args ...any) {
	if w.fault == "" {
		w.fault = w.now.Sub(epoch).String() + ": " + fmt.Sprintf(format, args...)
	}
}

// observed returns what a controller would read.
func (w *world) observed() Observed {
	out := w.stored
	out.Tasks = nil
	for _, c := range w.tasks {
		task := c.Task
		task.Lost = w.lost && task.Placed && !c.status.State.Terminal()
		task.Status = nil
		if c.reported {
			status := c.status
			task.Status = &status
		}
		out.Tasks = append(out.Tasks, task)
	}
	return out
}

// decide carries out plans until nothing is left to do now.
func (w *world) decide() time.Duration {
	for range 100 {
		w.work()
		w.decisions++
		plan := Decide(w.desired, w.observed(), w.now)
		if !w.carryOut(plan, len(plan.Actions)) {
			w.settled(plan)
			return plan.After
		}
	}
	w.blame("decisions don't come to an end")
	return 0
}

// settled checks what must hold whenever nothing is left to do.
func (w *world) settled(plan Plan) {
	switch end := w.stored.StartedAt.Add(w.desired.Duration); {
	case w.desired.Deleting:
	case w.stored.Phase == api.LabRunning && !w.now.Before(end):
		w.blame("it runs, and its time was over at %s", end.Sub(epoch))
	case w.stored.Phase == api.LabPending && plan.After == 0 && w.now.Before(w.desired.Start):
		w.blame("nothing brings it back at its start")
	case w.starting() && (plan.After <= 0 || plan.After > 30*time.Second):
		w.blame("its container is not there yet, and it is checked again after %s", plan.After)
	}
}

// starting reports whether the lab has a container that no node has reported as running yet.
func (w *world) starting() bool {
	return w.stored.Phase == api.LabProvisioning &&
		slices.ContainsFunc(w.tasks, func(c *container) bool { return c.Desired == api.DesiredRunning })
}

// carryOut commits the status and the first n actions, and reports whether anything was written.
func (w *world) carryOut(plan Plan, n int) bool {
	moved := w.stored.Phase != plan.Phase
	if moved && !labtest.Legal(w.stored.Phase, plan.Phase) {
		w.blame("a lab doesn't move from %s to %s", w.stored.Phase, plan.Phase)
	}
	if moved {
		w.log("%s (%s) %s", plan.Phase, cmp.Or(plan.Reason, "-"), plan.Message)
		// An extension that is written later comes too late.
		if end := plan.StartedAt.Add(w.desired.Duration); plan.Phase == api.LabTimeout && w.now.Before(end) {
			w.blame("its time is over at %s", end.Sub(epoch))
		}
	}
	w.stored.Phase, w.stored.StartedAt = plan.Phase, plan.StartedAt
	w.stored.Failures, w.stored.RetryAt = plan.Failures, plan.RetryAt
	for _, action := range plan.Actions[:n] {
		w.log("%s", action)
		w.act(action)
	}
	return moved || n > 0
}

func (w *world) act(a Action) {
	if a.Verb == StartTask {
		w.start(a)
		return
	}
	i := slices.IndexFunc(w.tasks, func(c *container) bool { return c.ID == a.Task })
	if i < 0 {
		w.blame("%s: there is no such task", a)
		return
	}
	c := w.tasks[i]
	raise := func(to api.DesiredState) {
		if c.Desired == api.DesiredRunning {
			c.Reason, c.StopAt = a.Reason, w.now
		}
		c.Desired = to
	}
	switch a.Verb {
	case StopTask:
		raise(api.DesiredShutdown)
	case RemoveTask:
		raise(api.DesiredRemoved)
	case ForgetTask:
		if c.runs(w.now) {
			w.blame("%s: its container runs", a)
		}
		w.tasks = slices.Delete(w.tasks, i, i+1)
	}
}

func (w *world) start(a Action) {
	w.made++
	w.stored.Tried = a.Release
	for _, c := range w.tasks {
		if c.runs(w.now) && !w.lost {
			w.blame("%s: the container of %s runs", a, c.ID)
		}
	}
	if w.stored.Phase.Ended() || w.desired.Deleting || w.now.Before(w.desired.Start) {
		w.blame("%s in phase %s", a, w.stored.Phase)
	}
	w.tasks = append(w.tasks, &container{Task: Task{
		Attempt: once.Attempt{Desired: api.DesiredRunning},
		ID:      fmt.Sprintf("t%d", w.made), Release: a.Release, Number: a.Number, CreatedAt: w.now,
	}})
}

func (c *container) runs(now time.Time) bool {
	return !c.begins.IsZero() && !now.Before(c.begins) && now.Before(c.ends) && (c.stops.IsZero() || now.Before(c.stops))
}

// work does what the scheduler and the node have done until now.
func (w *world) work() {
	w.next = w.now.Add(10000 * time.Hour)
	for _, c := range w.tasks {
		if !c.Placed && !w.full && c.Desired == api.DesiredRunning {
			c.Placed = true
			c.rejected = w.rejects > 0
			w.rejects = max(0, w.rejects-1)
			if !c.rejected {
				c.begins = w.now.Add(w.takes)
				c.ends = c.begins.Add(w.lasts)
			}
		}
		if c.Placed && !w.lost {
			w.report(c)
		}
	}
}

func (w *world) soon(at time.Time) {
	if at.After(w.now) && at.Before(w.next) {
		w.next = at
	}
}

// report updates the status that the node reports of a container.
func (w *world) report(c *container) {
	c.reported = true
	terminal := c.status.State.Terminal()
	w.soon(c.begins)
	w.soon(c.ends)
	switch {
	case terminal:
	case c.rejected:
		c.status.State, c.status.Message, c.status.FinishedAt = api.TaskRejected, "no such port", w.now
	case !c.ends.IsZero() && !w.now.Before(c.ends) && (c.stops.IsZero() || c.ends.Before(c.stops)):
		code := w.code
		c.status.RunningAt, c.status.ExitCode, c.status.FinishedAt = c.begins, &code, c.ends
		c.status.State = api.TaskComplete
		if c.Desired != api.DesiredRunning {
			c.status.State = api.TaskShutdown
		} else if code != 0 {
			c.status.State, c.status.Reason, c.status.Message = api.TaskFailed, api.ReasonExited, fmt.Sprintf("exit code %d", code)
		}
	case c.Desired != api.DesiredRunning:
		if c.stops.IsZero() {
			c.stops = w.now.Add(w.stopping)
		}
		w.soon(c.stops)
		if !w.now.Before(c.stops) {
			c.status.State, c.status.FinishedAt = api.TaskShutdown, w.now
		}
	case !w.now.Before(c.begins):
		c.status.State, c.status.RunningAt = api.TaskRunning, c.begins
	default:
		c.status.State = api.TaskPreparing
	}
	if c.Desired == api.DesiredRemoved && c.status.State.Terminal() {
		c.reported = false
	}
}

// pass lets time pass. It decides whenever something changes, and when the last plan asked for it.
func (w *world) pass(d time.Duration) {
	until := w.now.Add(d)
	for {
		after := w.decide()
		at := w.next
		if after > 0 && w.now.Add(after).Before(at) {
			at = w.now.Add(after)
		}
		if at.After(until) {
			w.now = until
			w.decide()
			return
		}
		w.now = at
	}
}
