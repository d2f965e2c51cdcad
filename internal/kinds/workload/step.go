package workload

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// writes collects the writes of one step into one transaction.
type writes struct {
	at    control.Observation
	o     observed
	txn   *records.Txn
	tasks map[string]owner.Task // by id; nil while nothing is to be done
	slots *owner.Slots
}

func begin(at control.Observation, o observed, a assessment) *writes {
	s := &writes{at: at, o: o, txn: records.NewTxn(string(o.ref.Kind) + "." + a.site())}
	owner.Guard(s.txn, o.tasks)
	owner.Guard(s.txn, o.runTasks)
	if len(a.plan.Actions) == 0 {
		return s
	}
	s.tasks, s.slots = make(map[string]owner.Task, len(o.tasks)), owner.NewSlots(at.NewSlot, o.tasks)
	for _, t := range o.tasks {
		s.tasks[t.Desired.Value.ID] = t
	}
	return s
}

// site names the commit after its first part, so that there is a failpoint at each kind of step.
func (a assessment) site() string {
	switch {
	case a.target.mint:
		return "release"
	case a.runs.start != nil:
		return "command"
	case len(a.runs.changed) > 0:
		return "ran"
	case len(a.plan.Actions) > 0:
		return string(a.plan.Actions[0].Verb)
	}
	return "status"
}

func (s *writes) mint(release *api.Release) {
	key := records.ReleaseKey(s.o.ref, release.ID)
	s.txn.If(key, 0).Put(key, release)
}

// write turns one action into writes.
func (s *writes) write(action rollout.Action) {
	//exhaustive:enforce
	switch action.Verb {
	case rollout.Create:
		s.create(action)
	case rollout.Shutdown:
		s.txn.RaiseTask(s.noting(action), api.DesiredShutdown, action.Reason, s.at.Now)
	case rollout.Remove:
		s.txn.RaiseTask(s.wiping(s.tasks[action.Task].Desired), api.DesiredRemoved, action.Reason, s.at.Now)
	case rollout.Forget:
		owner.Forget(s.txn, s.tasks[action.Task])
		s.forgetVolumes(s.tasks[action.Task])
	case rollout.RollBack: // the status says so, and the next reconcile plans towards the older release
	}
}

func (s *writes) create(action rollout.Action) {
	ref := s.o.ref
	if action.Slot != "" {
		s.createOrdinal(action)
		return
	}
	s.txn.CreateTask(api.Task{
		ID: s.at.NewTask(), Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, OwnerUID: s.o.uid(), Slot: s.slots.Next(),
		Replaces: action.Replaces, After: action.After,
		Release: action.Version.Release, Restart: action.Version.Restart, Pull: s.o.stamp(api.StampPull),
		Class: api.ClassKeep, Monitor: monitor(action), Desired: api.DesiredRunning, CreatedAt: s.at.Now,
	})
}

// monitor returns how long the agent watches a task that is created; empty is not at all.
func monitor(action rollout.Action) api.Duration {
	if action.Monitor <= 0 {
		return ""
	}
	return api.Duration(action.Monitor.String())
}
