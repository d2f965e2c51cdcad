package workload

import (
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/layout"
)

// ordered: the slots are ordinals.
func (o observed) ordered() bool { return o.ref.Kind == api.KindStatefulSet }

// bootstrap is the nonce a person last asked for a slot to be made anew under.
func (o observed) bootstrap(slot string) string { return o.stamp(api.StampRebootstrap + slot) }

// rebootstraps says whether a task has yet to go so that its ordinal is made anew with empty volumes. Only a nonce above
// the task's own asks for that, so that one that got lost empties nothing. A task without a node has nothing to empty yet.
func (o observed) rebootstraps(task api.Task) bool {
	return o.ordered() && task.Node != "" && nonce(o.bootstrap(task.Slot)) > nonce(task.Bootstrap)
}

func nonce(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// noting writes on an ordinal's task, as it is told to stop, which attempt follows it.
func (s *step) noting(read layout.Read[api.Task], next int) layout.Read[api.Task] {
	if next == 0 {
		return read
	}
	task := *read.Value
	task.NextAttempt = next
	read.Value = &task
	return read
}

// keepsVolumes reports whether the newest request to make the ordinal again leaves its volumes alone.
func (o observed) keepsVolumes(slot string) bool {
	return nonce(o.bootstrap(slot)) > 0 && o.stamp(api.StampKeepVolumes+slot) == o.bootstrap(slot)
}

// wiping has the agent remove the ordinal's volumes after the container, where a person asked for that: by a rebootstrap, or
// by a deletion that takes the volumes too. Every other deletion keeps them.
func (s *step) wiping(read layout.Read[api.Task]) layout.Read[api.Task] {
	asked := s.o.rebootstraps(*read.Value) && !s.o.keepsVolumes(read.Value.Slot)
	if s.o.deleting() {
		asked = s.o.ordered() && read.Value.Node != "" && s.o.stamp(api.StampWipe) != ""
	}
	if !asked {
		return read
	}
	task := *read.Value
	task.Wipe = true
	read.Value = &task
	return read
}

// createOrdinal fills an ordinal: one that had a task changes hands in one step.
func (s *step) createOrdinal(action rollout.Action) {
	ref := s.o.ref
	task := api.Task{
		ID: s.c.NewTask(), Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, OwnerUID: s.o.uid(), Slot: action.Slot,
		Release: action.Version.Release, Restart: action.Version.Restart,
		Class: api.ClassKeep, Monitor: s.monitor, Attempt: action.Attempt, Bootstrap: s.o.bootstrap(action.Slot),
		Desired: api.DesiredRunning, CreatedAt: s.now,
	}
	if action.Task == "" {
		s.txn.CreateTask(task)
		return
	}
	old := s.tasks[action.Task]
	if !old.Value.Wipe && !s.o.keepsVolumes(action.Slot) {
		task.Bootstrap = old.Value.Bootstrap // what was asked for is still to be done
	}
	s.txn.ReplaceTask(old, s.o.slot(action.Slot), task)
}
