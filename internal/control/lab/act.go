package lab

import (
	"context"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/lab"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
)

// act commits an assessment: one transaction, on the condition that the manifest and what people asked have not changed
// since they were read.
func (c *Controller) act(ctx context.Context, o observed, a assessment, now time.Time) (engine.Result, error) {
	s := c.begin(o, a, now)
	if want := o.wantedImage(); want.Image != "" && o.begins() && !o.deleting() && (!o.request.Exists() || !o.request.Value.Equal(want)) {
		s.txn.If(records.ImageKey(o.ref), o.request.Modified).Put(records.ImageKey(o.ref), want)
	}
	next := o.nextStatus(a, now)
	for _, action := range a.plan.Actions {
		s.write(action, &next)
	}
	s.dropReleases(a.target)
	if a.plan.Phase.Ended() && o.request.Exists() {
		s.txn.Delete(records.ImageKey(o.ref)) // nothing starts any more
	}
	if err := owner.PutStatus(s.txn, records.StatusKey(o.ref), o.status, next); err != nil {
		return engine.Result{}, err
	}
	revision, err := c.Commit(ctx, s.txn, records.StatusKey(o.ref))
	if err != nil {
		return engine.Result{}, err
	}
	if revision > 0 {
		c.report(o, a)
	}
	return engine.Result{Revision: revision, After: owner.Sooner(owner.Sooner(a.plan.After, a.patience), o.silent)}, nil
}

// report logs what was committed.
func (c *Controller) report(o observed, a assessment) {
	for _, action := range a.plan.Actions {
		c.Logger.Info("plan", "object", o.ref.String(), "action", action.String())
	}
	if from := o.before().Phase; from != a.plan.Phase {
		c.Logger.Info("lab moved", "object", o.ref.String(), "from", string(from), "to", string(a.plan.Phase), "reason", a.plan.Reason)
	}
}

// step collects the writes of one reconcile into one transaction.
type step struct {
	c     *Controller
	o     observed
	a     assessment
	txn   *records.Txn
	now   time.Time
	tasks map[string]records.Read[api.Task]
	slots *owner.Slots
}

func (c *Controller) begin(o observed, a assessment, now time.Time) *step {
	site := "status"
	if len(a.plan.Actions) > 0 {
		site = string(a.plan.Actions[0].Verb)
	} else if from := o.before().Phase; from != a.plan.Phase {
		site = strings.ToLower(string(a.plan.Phase))
	}
	s := &step{c: c, o: o, a: a, now: now, tasks: map[string]records.Read[api.Task]{}, slots: owner.NewSlots(c.NewSlot, o.tasks)}
	s.txn = records.NewTxn("lab."+site).If(records.ObjectKey(o.ref), o.object.Modified).If(records.LabKey(o.ref), o.orders.Modified)
	for _, t := range o.tasks {
		s.tasks[t.Desired.Value.ID] = t.Desired
	}
	owner.Guard(s.txn, o.tasks)
	return s
}

// write turns one action into writes.
func (s *step) write(a lab.Action, status *api.LabStatus) {
	//exhaustive:enforce
	switch a.Verb {
	case lab.StartTask:
		s.start(a, status)
	case lab.StopTask:
		s.txn.RaiseTask(s.tasks[a.Task], api.DesiredShutdown, a.Reason, s.now)
	case lab.RemoveTask:
		s.txn.RaiseTask(s.tasks[a.Task], api.DesiredRemoved, a.Reason, s.now)
	case lab.ForgetTask:
		s.txn.ForgetTask(s.tasks[a.Task])
	}
}

// start creates the task, and the release it needs if that is new.
func (s *step) start(a lab.Action, status *api.LabStatus) {
	ref, target := s.o.ref, s.a.target
	status.Release = target.ID
	if fresh := target.Fresh; fresh != nil {
		key := records.ReleaseKey(ref, fresh.ID)
		s.txn.If(key, 0).Put(key, fresh)
		status.LastReleaseNumber = max(status.LastReleaseNumber, fresh.Number)
	}
	task := api.Task{
		ID: s.c.NewTask(), Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, OwnerUID: s.o.object.Value.Metadata.UID, Slot: s.slots.Next(),
		Release: a.Release, Attempt: a.Number, Class: api.ClassOnce, Desired: api.DesiredRunning, CreatedAt: s.now,
		Monitor: api.Duration(api.DefaultMonitor.String()),
	}
	status.Task, status.Pod = task.ID, task.ContainerName()
	s.txn.CreateTask(task)
}

// dropReleases deletes the releases that nothing refers to any more: no task, and not the newest one.
func (s *step) dropReleases(t owner.Target) {
	used := map[string]bool{t.ID: true}
	if newest := owner.Newest(s.o.releases); newest != nil {
		used[newest.ID] = true
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
