package timetable

import (
	"cmp"
	"slices"
	"time"

	"tend.dev/tend/api"
)

// Decide compares the declared with the observed state and returns the next actions.
func Decide(desired Desired, observed Observed, now time.Time) Plan {
	p := &planner{Desired: desired, now: now, stored: observed.Timeline, plan: Plan{Timeline: observed.Timeline}}
	p.sort(observed)
	if desired.Deleting {
		p.removeAll(observed.Tasks)
		return p.plan
	}
	p.due()
	p.runRelease()
	for i := range p.runs {
		p.attempt(&p.runs[i])
	}
	p.prune()
	p.sweep(observed.Tasks)
	p.count()
	return p.plan
}

// planner holds one decision while it is made.
type planner struct {
	Desired
	now    time.Time
	stored Timeline
	runs   []run // oldest first
	plan   Plan
}

// run is a run with its tasks, the newest attempt last. ended is set if this plan ends it, pruned if this plan deletes
// it.
type run struct {
	api.Run
	tasks         []Task
	ended, pruned bool
}

func (r *run) active() bool { return !r.ended && !r.State.Ended() }

// newest returns the last attempt's task; nil before the first.
func (r *run) newest() *Task {
	if len(r.tasks) == 0 {
		return nil
	}
	return &r.tasks[len(r.tasks)-1]
}

func (p *planner) sort(o Observed) {
	p.runs = make([]run, len(o.Runs))
	for i, record := range o.Runs {
		p.runs[i] = run{Run: record}
		for _, task := range o.Tasks {
			if task.Run == record.ID {
				p.runs[i].tasks = append(p.runs[i].tasks, task)
			}
		}
		slices.SortFunc(p.runs[i].tasks, func(a, b Task) int { return cmp.Or(a.Number-b.Number, cmp.Compare(a.ID, b.ID)) })
	}
	slices.SortFunc(p.runs, func(a,
		b run) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

func (p *planner) do(a Action) { p.plan.Actions = append(p.plan.Actions, a) }

// look requests another decision at a time; the earliest request counts.
func (p *planner) look(at time.Time) {
	after := max(at.Sub(p.now), time.Millisecond)
	if p.plan.After == 0 || after < p.plan.After {
		p.plan.After = after
	}
}

// finish ends a run.
func (p *planner) finish(r *run, state api.RunState, code *int, reason, message string) {
	p.end(r, Action{State: state, ExitCode: code, Reason: reason, Message: message})
}

// end ends a run with the outcome that an action names.
func (p *planner) end(r *run, a Action) {
	r.ended = true
	r.State, r.FinishedAt = a.State, p.now
	a.Verb, a.Run = FinishRun, r.ID
	p.do(a)
}

// refuse ends a run that can't begin.
func (p *planner) refuse(r *run) {
	p.end(r, Action{State: api.RunFailed, Reason: p.Refused.Reason, Message: p.Refused.Message, Next: p.Refused.Next})
}

// exclusive reports whether two runs must not run at once.
func (p *planner) exclusive() bool {
	return p.Concurrency == api.ConcurrencyForbid || p.Concurrency == api.ConcurrencyReplace
}

func (p *planner) count() {
	for i := range p.runs {
		switch r := &p.runs[i]; {
		case r.pruned:
		case r.active():
			p.plan.Active++
		case r.State == api.RunSucceeded:
			p.plan.Succeeded++
		default:
			p.plan.Failed++
		}
	}
}
