package lab

import (
	"log/slog"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/lab"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// act turns an assessment into a step, on the condition that what people asked has not changed since it was read.
func act(at control.Observation, o observed, a assessment) control.Step {
	w := begin(at, o, a)
	next := control.Step{
		Txn: w.txn, Log: o.moved(a),
		After: owner.Sooner(owner.Sooner(a.plan.After, a.patience), o.silent),
	}
	want, due := o.wantedImage()
	o.early.Settle(w.txn, want, due)
	if due && !a.plan.Phase.Ended() {
		w.txn.If(records.ImageKey(o.ref), o.request.Modified).Put(records.ImageKey(o.ref), want)
		next.Actions = append(next.Actions, at.Planned("resolve", "resolve image "+want.Image))
	}
	if text := o.movedEnd(at.Now); text != "" {
		next.Actions = append(next.Actions, at.Planned("schedule", text))
	}
	status := o.nextStatus(a, at.Now)
	for _, action := range a.plan.Actions {
		w.write(action, &status)
		action.Pod = owner.PodName(o.tasks, action.Task)
		planned := api.PlannedAction{
			Object: o.ref, Verb: string(action.Verb), Task: action.Task, Release: action.Release,
			Reason: action.Reason, Text: action.String(),
		}
		if action.Verb == lab.ForgetTask {
			next.Chores = append(next.Chores, planned)
			continue
		}
		next.Actions = append(next.Actions, planned)
	}
	if text := o.startsBy(at.Now, a); at.DryRun && text != "" {
		next.Actions = append(next.Actions, at.Planned("schedule", text))
	}
	owner.DropReleases(w.txn, o.ref, o.releases, o.tasks, map[string]bool{a.target.ID: true})
	if a.plan.Phase.Ended() && o.request.Exists() {
		w.txn.Delete(records.ImageKey(o.ref)) // nothing starts any more
	}
	next.Status = status
	return next
}

// startsBy returns a text with the time at which a lab starts by itself; empty if it doesn't.
func (o observed) startsBy(now time.Time, a assessment) string {
	waits := a.plan.Waits == lab.ForStart || a.plan.Waits == lab.ForRelease
	if !waits || a.refused != nil || !o.begins() || o.deleting() || len(o.tasks) > 0 {
		return ""
	}
	when, start := "at once", o.spec.StartsAt()
	if start.After(now) {
		when = "at " + start.Format(time.RFC3339)
	}
	return "start " + when + ", for " + o.desired("", "").Duration.String()
}

// movedEnd returns a text with the new end of a running lab; empty if its end stays.
func (o observed) movedEnd(now time.Time) string {
	was := o.before()
	if was.Phase != api.LabRunning || o.deleting() {
		return ""
	}
	switch ends := was.StartedAt.Add(o.desired("", "").Duration); {
	case ends.Equal(was.EndsAt):
		return ""
	case !ends.After(now):
		return "end at once: its new time was over at " + stampOf(ends)
	default:
		return "end at " + stampOf(ends) + " instead of " + stampOf(was.EndsAt)
	}
}

// moved returns what logs the move of a lab; nil if it stays in its phase.
func (o observed) moved(a assessment) func(*slog.Logger) {
	from := o.before().Phase
	if from == a.plan.Phase {
		return nil
	}
	return func(log *slog.Logger) {
		log.Info("lab moved", "from", string(from), "to", string(a.plan.Phase), "reason", a.plan.Reason)
	}
}

// writes collects the writes of one step into one transaction.
type writes struct {
	at    control.Observation
	o     observed
	a     assessment
	txn   *records.Txn
	tasks map[string]owner.Task
	slots *owner.Slots
}

func begin(at control.Observation, o observed, a assessment) *writes {
	site := "status"
	if len(a.plan.Actions) > 0 {
		site = string(a.plan.Actions[0].Verb)
	} else if from := o.before().Phase; from != a.plan.Phase {
		site = strings.ToLower(string(a.plan.Phase))
	}
	w := &writes{at: at, o: o, a: a, tasks: map[string]owner.Task{}}
	w.slots = owner.NewSlots(at.NewSlot, o.tasks)
	w.txn = records.NewTxn("lab."+site).If(records.LabKey(o.ref), o.orders.Modified)
	for _, t := range o.tasks {
		w.tasks[t.Desired.Value.ID] = t
	}
	owner.Guard(w.txn, o.tasks)
	return w
}

// write turns one action into writes.
func (w *writes) write(a lab.Action, status *api.LabStatus) {
	//exhaustive:enforce
	switch a.Verb {
	case lab.StartTask:
		w.start(a, status)
	case lab.StopTask:
		w.txn.RaiseTask(w.tasks[a.Task].Desired, api.DesiredShutdown, a.Reason, w.at.Now)
	case lab.RemoveTask:
		w.txn.RaiseTask(w.tasks[a.Task].Desired, api.DesiredRemoved, a.Reason, w.at.Now)
	case lab.ForgetTask:
		owner.Forget(w.txn, w.tasks[a.Task])
	}
}

// start creates the task, and the release it needs if that is new.
func (w *writes) start(a lab.Action, status *api.LabStatus) {
	ref, target := w.o.ref, w.a.target
	status.Release = target.ID
	if fresh := target.Fresh; fresh != nil {
		key := records.ReleaseKey(ref, fresh.ID)
		w.txn.If(key, 0).Put(key, fresh)
		status.LastReleaseNumber = max(status.LastReleaseNumber, fresh.Number)
	}
	task := api.Task{
		ID: w.at.NewTask(), Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, OwnerUID: w.o.object.Value.Metadata.UID,
		Slot: w.slots.Next(), Release: a.Release, Attempt: a.Number, Class: api.ClassOnce, Desired: api.DesiredRunning,
		CreatedAt: w.at.Now, Monitor: api.Duration(api.DefaultMonitor.String()),
	}
	status.Task, status.Pod = task.ID, task.ContainerName()
	w.txn.CreateTask(task)
}
