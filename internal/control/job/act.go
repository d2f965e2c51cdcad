package job

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
)

// maxActions bounds one commit: an action is at most three operations, and a store takes 10,000. The next reconcile
// follows at once and does the rest.
const maxActions = 1000

// act commits an assessment: one transaction, on the condition that the manifest has not changed since it was read.
func (c *Controller) act(ctx context.Context, o observed, a assessment, now time.Time) (engine.Result, error) {
	actions := a.plan.Actions
	more := len(actions) > maxActions
	if more {
		actions = actions[:maxActions]
	}
	s := c.begin(o, actions, now)
	if want, due := o.wantedImage(); due {
		s.txn.If(records.ImageKey(o.ref), o.request.Modified).Put(records.ImageKey(o.ref), want)
	}
	for _, action := range actions {
		s.write(action, a.target)
	}
	s.flush()
	s.dropReleases(a.target)
	if err := s.putStatus(o.nextStatus(a, s.records(), now)); err != nil {
		return engine.Result{}, err
	}
	revision, err := c.Commit(ctx, s.txn, records.StatusKey(o.ref))
	if err != nil {
		return engine.Result{}, err
	}
	if revision > 0 {
		for _, action := range actions {
			c.Logger.Info("plan", "object", o.ref.String(), "action", action.String())
		}
	}
	return engine.Result{Revision: revision, After: o.after(a, more)}, nil
}

// after returns when to reconcile again if no event comes first.
func (o observed) after(a assessment, more bool) time.Duration {
	if more {
		return time.Millisecond
	}
	return owner.Sooner(a.plan.After, o.silent)
}

// step collects the writes of one reconcile into one transaction.
type step struct {
	c     *Controller
	o     observed
	txn   *records.Txn
	now   time.Time
	tasks map[string]records.Read[api.Task]
	slots *owner.Slots
	runs  *history
	// minted is set once the fresh release is among the writes.
	minted bool
}

func (c *Controller) begin(o observed, actions []timetable.Action, now time.Time) *step {
	site := "status"
	if len(actions) > 0 {
		site = string(actions[0].Verb)
	}
	s := &step{c: c, o: o, now: now, tasks: map[string]records.Read[api.Task]{}, slots: owner.NewSlots(c.NewSlot, o.tasks), runs: newHistory(o)}
	s.txn = records.NewTxn(string(o.ref.Kind)+"."+site).If(records.ObjectKey(o.ref), o.object.Modified)
	for _, t := range o.tasks {
		s.tasks[t.Desired.Value.ID] = t.Desired
	}
	owner.Guard(s.txn, o.tasks)
	return s
}

func (s *step) records() []api.Run { return s.runs.sorted() }

// write turns one action into writes.
func (s *step) write(a timetable.Action, t owner.Target) {
	//exhaustive:enforce
	switch a.Verb {
	case timetable.CreateRun:
		s.runs.create(*a.Due)
	case timetable.StartAttempt:
		s.start(a, t)
	case timetable.StopAttempt:
		s.txn.RaiseTask(s.tasks[a.Task], api.DesiredShutdown, a.Reason, s.now)
	case timetable.FinishRun:
		s.runs.finish(a, s.now)
	case timetable.CorrectRun:
		s.runs.correct(a)
	case timetable.PruneRun:
		s.runs.prune(a.Run)
	case timetable.RemoveTask:
		s.txn.RaiseTask(s.tasks[a.Task], api.DesiredRemoved, a.Reason, s.now)
	case timetable.ForgetTask:
		s.txn.ForgetTask(s.tasks[a.Task])
	case timetable.MarkMissed: // the plan's timeline counts it, and the status shows that
	}
}

// start creates a task, and the release it needs if that is new.
func (s *step) start(a timetable.Action, t owner.Target) {
	ref := s.o.ref
	if t.Fresh != nil && t.ID == a.Release && !s.minted {
		s.minted = true
		key := records.ReleaseKey(ref, t.ID)
		s.txn.If(key, 0).Put(key, t.Fresh)
	}
	run, task := owner.Begin(s.runs.next[a.Run], api.Task{
		ID: s.c.NewTask(), OwnerUID: s.o.uid(), Slot: s.slots.Next(), Release: a.Release, Attempt: a.Attempt, Exclusive: a.Exclusive,
	}, s.now)
	s.runs.next[a.Run] = run
	s.txn.CreateTask(task)
}

// flush writes the runs that changed.
func (s *step) flush() {
	for _, change := range s.runs.changes() {
		key := records.RunKey(s.o.ref, change.id)
		s.txn.If(key, change.modified)
		if change.next == nil {
			s.txn.Delete(key)
		} else {
			s.txn.Put(key, *change.next)
		}
	}
}

// dropReleases deletes the releases that nothing refers to any more: no run, no task, and not the newest one.
func (s *step) dropReleases(t owner.Target) {
	used := map[string]bool{t.ID: true}
	if newest := owner.Newest(s.o.releases); newest != nil {
		used[newest.ID] = true
	}
	for _, run := range s.runs.sorted() {
		used[run.Release] = true
	}
	for _, task := range s.o.tasks {
		used[task.Desired.Value.Release] = true
	}
	for _, release := range s.o.releases {
		if !used[release.Value.ID] {
			s.txn.Delete(records.ReleaseKey(s.o.ref, release.Value.ID))
		}
	}
}

// putStatus writes the status; see owner.PutStatus.
func (s *step) putStatus(status api.JobStatus) error {
	return owner.PutStatus(s.txn, records.StatusKey(s.o.ref), s.o.status, status)
}
