package job

import (
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// maxActions bounds one commit: an action is at most three operations, and a store takes 10,000. The next reconcile
// follows at once and does the rest.
const maxActions = 1000

// act turns an assessment into a step.
func (c *jobs) act(at control.Observation, o observed, a assessment) (control.Step, error) {
	actions := a.plan.Actions[:min(maxActions, len(a.plan.Actions))]
	rest := a.plan.Actions[len(actions):]
	w := begin(at, o, actions)
	next := control.Step{Txn: w.txn, After: o.after(a, len(rest) > 0)}
	want, due := o.wantedImage()
	o.early.Settle(w.txn, want, due)
	if due {
		w.txn.If(records.ImageKey(o.ref), o.request.Modified).Put(records.ImageKey(o.ref), want)
		next.Actions = append(next.Actions, at.Planned("resolve", "resolve image "+want.Image))
	}
	if text := o.newSchedule(at.Now); text != "" {
		next.Actions = append(next.Actions, at.Planned("schedule", text))
	}
	for _, action := range actions {
		w.write(action, a.target)
		if chore(action) {
			next.Chores = append(next.Chores, o.planned(action))
		} else {
			next.Actions = append(next.Actions, o.planned(action))
		}
	}
	w.flush()
	used := map[string]bool{a.target.ID: true}
	for _, run := range w.runs.sorted() {
		used[run.Release] = true
	}
	owner.DropReleases(w.txn, o.ref, o.releases, o.tasks, used)
	next.Status = o.nextStatus(a, w.runs.sorted(), at.Now)
	if !at.DryRun {
		return next, nil
	}
	ahead, err := c.ahead(at, o, a, rest)
	next.Actions = append(next.Actions, ahead...)
	return next, err
}

// ahead returns what one commit has no room for, and the run that a job will have by itself.
func (c *jobs) ahead(
	at control.Observation, o observed, a assessment, rest []timetable.Action,
) (actions []api.PlannedAction, err error) {
	for _, action := range rest {
		if !chore(action) {
			actions = append(actions, o.planned(action))
		}
	}
	begins := slices.ContainsFunc(a.plan.Actions, func(a timetable.Action) bool {
		return a.Verb == timetable.CreateRun
	}) || slices.ContainsFunc(o.runs, func(run records.Read[api.Run]) bool {
		return run.Value.State == api.RunPending // it takes the new release
	})
	if !o.declared.job.RunOnRelease || o.deleting() || a.refused != nil || begins {
		return actions, nil
	}
	target := a.target
	if target.ID == "" {
		if target, err = c.asIfFound(at.Snapshot, o, at.Now); err != nil {
			return nil, err
		}
	}
	if target.Fresh == nil {
		return actions, nil
	}
	return append(actions, at.Planned("run", "run it once")), nil
}

// planned returns an action of the planner.
func (o observed) planned(action timetable.Action) api.PlannedAction {
	action.Pod = owner.PodName(o.tasks, action.Task)
	return api.PlannedAction{
		Object: o.ref, Verb: string(action.Verb), Task: action.Task, Release: action.Release,
		Reason: action.Reason, Text: action.String(),
	}
}

// chore reports whether no dry run shows an action.
func chore(action timetable.Action) bool {
	return action.Verb == timetable.ForgetTask || action.Verb == timetable.PruneRun ||
		action.Verb == timetable.MarkMissed
}

// newSchedule returns a text with the first time at which a new schedule is due; empty if none is new.
func (o observed) newSchedule(now time.Time) string {
	cron := o.declared.cron
	if cron == nil || cron.Suspend || o.deleting() || o.timeline().ScheduleHash == o.declared.scheduleHash {
		return ""
	}
	next, ok := o.declared.schedule.Next(now)
	if !ok {
		return ""
	}
	return "run " + cron.Schedule + ", next at " + next.In(o.declared.schedule.Zone()).Format("2006-01-02 15:04 -07:00")
}

// after returns when to reconcile again if no event comes first.
func (o observed) after(a assessment, more bool) time.Duration {
	if more {
		return time.Millisecond
	}
	return owner.Sooner(a.plan.After, o.silent)
}

// writes collects the writes of one step into one transaction.
type writes struct {
	at    control.Observation
	o     observed
	txn   *records.Txn
	tasks map[string]owner.Task
	slots *owner.Slots
	runs  *history
	// minted is set once the fresh release is among the writes.
	minted bool
}

func begin(at control.Observation, o observed, actions []timetable.Action) *writes {
	site := "status"
	if len(actions) > 0 {
		site = string(actions[0].Verb)
	}
	w := &writes{at: at, o: o, runs: newHistory(o), tasks: map[string]owner.Task{}}
	w.slots = owner.NewSlots(at.NewSlot, o.tasks)
	w.txn = records.NewTxn(string(o.ref.Kind) + "." + site)
	for _, t := range o.tasks {
		w.tasks[t.Desired.Value.ID] = t
	}
	owner.Guard(w.txn, o.tasks)
	return w
}

// write turns one action into writes.
func (w *writes) write(a timetable.Action, t owner.Target) {
	//exhaustive:enforce
	switch a.Verb {
	case timetable.CreateRun:
		w.runs.create(*a.Due)
	case timetable.StartAttempt:
		w.start(a, t)
	case timetable.StopAttempt:
		w.txn.RaiseTask(w.tasks[a.Task].Desired, api.DesiredShutdown, a.Reason, w.at.Now)
	case timetable.FinishRun:
		w.runs.next[a.Run] = timetable.Finish(w.runs.next[a.Run], a, w.at.Now)
	case timetable.CorrectRun:
		w.runs.next[a.Run] = timetable.Correct(w.runs.next[a.Run], a)
	case timetable.PruneRun:
		delete(w.runs.next, a.Run)
	case timetable.RemoveTask:
		w.txn.RaiseTask(w.tasks[a.Task].Desired, api.DesiredRemoved, a.Reason, w.at.Now)
	case timetable.ForgetTask:
		owner.Forget(w.txn, w.tasks[a.Task])
	case timetable.MarkMissed: // the plan's timeline counts it, and the status shows that
	}
}

// start creates a task, and the release it needs if that is new.
func (w *writes) start(a timetable.Action, t owner.Target) {
	ref := w.o.ref
	if t.Fresh != nil && t.ID == a.Release && !w.minted {
		w.minted = true
		key := records.ReleaseKey(ref, t.ID)
		w.txn.If(key, 0).Put(key, t.Fresh)
	}
	run, task := owner.Begin(w.runs.next[a.Run], api.Task{
		ID: w.at.NewTask(), OwnerUID: w.o.uid(), Slot: w.slots.Next(),
		Release: a.Release, Attempt: a.Attempt, Exclusive: a.Exclusive,
	}, w.at.Now)
	w.runs.next[a.Run] = run
	w.txn.CreateTask(task)
}

// flush writes the runs that changed.
func (w *writes) flush() {
	for _, change := range w.runs.changes() {
		key := records.RunKey(w.o.ref, change.id)
		w.txn.If(key, change.modified)
		if change.next == nil {
			w.txn.Delete(key)
		} else {
			w.txn.Put(key, *change.next)
		}
	}
}
