package board

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/liveness"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

// read reads a task for placement; false if it is gone, or nothing of it is left.
func (b *Board) read(s records.Snapshot, id string) (placement.Task, bool) {
	task := s.Task(id).Value
	if task == nil {
		return placement.Task{}, false
	}
	return taskOf(s, task, b.demands.of(s, task))
}

// task converts a task for placement; false if nothing of it is left.
func taskOf(s records.Snapshot, task *api.Task, demand demand) (placement.Task, bool) {
	status := s.TaskStatus(task.ID).Value
	if task.Desired == api.DesiredRemoved && status == nil {
		return placement.Task{}, false
	}
	out := placement.Task{
		ID: task.ID, Name: task.ContainerName(), Workload: task.Owner().String(), Node: task.Node, After: task.After,
		Replaces: predecessor(s, task),
		Leaving:  task.Desired != api.DesiredRunning,
		Stopped:  status != nil && status.State.Terminal() || task.Node == "" && task.Desired != api.DesiredRunning,
		Demand:   demand.Demand, Volumes: demand.at(task), CreatedAt: task.CreatedAt,
	}
	if task.Role != api.RoleMain {
		out.Demand = demand.quiet
	}
	if out.Node == "" && out.Replaces != "" {
		out.Toward = destination(s, task.Owner(), out.Replaces)
	}
	return out, true
}

// predecessor returns the task in the slot that a task takes over from.
func predecessor(snapshot records.Snapshot, task *api.Task) string {
	if task.Replaces == "" {
		return ""
	}
	record, ok := snapshot.Get(records.SlotKey(task.Owner(), task.Replaces))
	if !ok {
		return ""
	}
	id, _ := record.Value.(string)
	return id
}

func (b *Board) node(snapshot records.Snapshot, status *api.NodeStatus) placement.Node {
	spec := snapshot.NodeSpec(status.ID)
	out := placement.Node{
		ID: status.ID, Alive: snapshot.Alive(status.ID), Ready: status.Ready, Message: status.Message,
		Attributes: api.NodeAttributes(*status, spec.Labels),
		Cordoned:   spec.Availability == api.NodeCordoned, Draining: spec.Availability == api.NodeDrained,
		Runtime: status.Runtime, Arch: status.Arch, MemoryBytes: status.MemoryBytes, CPUs: status.CPUs,
	}
	hearing, last := Hearing(snapshot, status.ID, b.alone)
	out.LastHeard, out.Unheard, out.Awaited = last, hearing != liveness.Heard, hearing == liveness.Awaited
	if pressure := api.FindCondition(status.Conditions, api.ConditionDiskPressure); pressure != nil {
		out.DiskFull = pressure.Status == api.ConditionTrue
	}
	if losses := snapshot.Losses(status.ID); losses.Exists() && liveness.Damped(*losses.Value) {
		out.Losses, out.Until = len(losses.Value.At), losses.Value.Until
	}
	return out
}

// Unheard reports whether no server hears a node although its heartbeat lasts, and when one did last, if that is known.
// The only node gets pods all the same, and never counts as unheard. alone is Hearing's.
func Unheard(s records.Snapshot, node string, alone time.Time) (unheard bool, last time.Time) {
	hearing, last := Hearing(s, node, alone)
	if hearing != liveness.Unheard || !s.Alive(node) || len(s.Nodes()) < 2 {
		return false, time.Time{}
	}
	return true, last
}

// Hearing returns whether a node that counts as alive is heard by a server, and when it was last if it isn't, as far as
// that is known. alone is when this server was started if it is alone; zero among several, which say so themselves.
func Hearing(s records.Snapshot, node string, alone time.Time) (h liveness.Hearing, last time.Time) {
	beat, life := s.Heartbeat(node), alone
	if alone.IsZero() {
		life = s.ServerLife(beat.Server)
	}
	return liveness.HearingOf(liveness.Beat(beat), life)
}
