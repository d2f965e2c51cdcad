package timetable

import (
	"cmp"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

// Linger is the time for which an ended run stays regardless of the limits. A client that waits for it then learns of
// its end and reads the rest of its output.
const Linger = 10 * time.Second

// prune deletes the ended runs beyond the limits, those that ended first.
func (p *planner) prune() {
	keep := map[api.RunState]int{
		api.RunSucceeded: p.KeepSucceeded, api.RunFailed: p.KeepFailed, api.RunReplaced: p.KeepFailed,
	}
	ended := make([]*run, 0, len(p.runs))
	for i := range p.runs {
		if r := &p.runs[i]; !r.active() && !r.ended {
			ended = append(ended, r)
		}
	}
	slices.SortFunc(ended, func(a,
		b *run) int {
		return cmp.Or(b.FinishedAt.Compare(a.FinishedAt), cmp.Compare(b.ID, a.ID))
	})
	for i, r := range ended {
		if keep[r.State] > 0 {
			keep[r.State]--
			continue
		}
		if p.KeepFailure && i == 0 && r.State == api.RunFailed {
			continue
		}
		if goes := r.FinishedAt.Add(Linger); p.now.Before(goes) && !r.FinishedAt.After(p.now) {
			p.look(goes)
			continue
		}
		if slices.ContainsFunc(r.tasks,
			func(t Task) bool { return !t.Ended() || t.Desired == api.DesiredRunning && !t.Terminal() }) {
			continue // it has yet to be stopped
		}
		if p.Schedule != nil && p.stored.awaits(r.ScheduledAt) && !p.plan.Timeline.awaits(r.ScheduledAt) {
			// the run is all that says so until the timeline is stored: without it the due time would begin another
			p.look(p.now)
			continue
		}
		r.pruned = true
		p.do(Action{Verb: PruneRun, Run: r.ID})
	}
}

// sweep removes the tasks that belong to no run, and forgets those whose container is gone.
func (p *planner) sweep(tasks []Task) {
	known := map[string]bool{}
	for i := range p.runs {
		known[p.runs[i].ID] = !p.runs[i].pruned
	}
	for _, task := range tasks {
		p.collect(task, known[task.Run])
	}
}

func (p *planner) removeAll(tasks []Task) {
	for _, task := range tasks {
		p.collect(task, false)
	}
}

// collect takes the next step of removing a task that isn't wanted.
func (p *planner) collect(task Task, wanted bool) {
	verb := Verb("")
	switch task.Removal(wanted) {
	case once.Nothing:
		return
	case once.Stop:
		verb = StopAttempt
	case once.Remove:
		verb = RemoveTask
	case once.Forget:
		p.do(Action{Verb: ForgetTask, Run: task.Run, Task: task.ID})
		return
	}
	p.do(Action{Verb: verb, Run: task.Run, Task: task.ID, Reason: api.ReasonDeleted})
}
