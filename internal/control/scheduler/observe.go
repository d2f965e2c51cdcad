package scheduler

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/liveness"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// input is what a decision is made from.
type input struct {
	tasks []placement.Task
	nodes []placement.Node
	homes map[string]string
	// waiting reports whether a task needs a node.
	waiting bool
}

// observe converts the store's tasks and nodes for placement. The data of a volume is where the store says, or else where a
// task has used it.
func (s *Scheduler) observe(snapshot records.Snapshot) input {
	in := input{homes: snapshot.Homes(), nodes: nodes(snapshot)}
	for _, read := range snapshot.Tasks() {
		task := read.Value
		status := snapshot.TaskStatus(task.ID).Value
		if task.Desired == api.DesiredRemoved && status == nil {
			continue
		}
		demand := s.demands.of(snapshot, task)
		next := placement.Task{
			ID: task.ID, Name: task.ContainerName(), Workload: task.Owner().String(), Node: task.Node, After: task.After, Replaces: taskOf(snapshot, task),
			Leaving: task.Desired != api.DesiredRunning,
			Stopped: status != nil && status.State.Terminal() || task.Node == "" && task.Desired != api.DesiredRunning,
			Demand:  demand.Demand, Volumes: demand.at(task), CreatedAt: task.CreatedAt,
		}
		if task.Role != api.RoleMain {
			next.Demand = demand.quiet
		}
		if next.Node == "" && next.Replaces != "" {
			next.Toward = destination(snapshot, task.Owner(), next.Replaces)
		}
		for _, volume := range next.Volumes {
			if _, known := in.homes[volume]; !known && task.Node != "" {
				in.homes[volume] = task.Node
			}
		}
		in.tasks = append(in.tasks, next)
		in.waiting = in.waiting || task.Node == "" && task.Desired == api.DesiredRunning
	}
	return in
}

// taskOf returns the task in the slot that a task takes over from.
func taskOf(snapshot records.Snapshot, task *api.Task) string {
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

func nodes(snapshot records.Snapshot) []placement.Node {
	var out []placement.Node
	for _, read := range snapshot.Nodes() {
		out = append(out, node(snapshot, read.Value))
	}
	return out
}

func node(snapshot records.Snapshot, status *api.NodeStatus) placement.Node {
	spec := snapshot.NodeSpec(status.ID)
	out := placement.Node{
		ID: status.ID, Alive: snapshot.Alive(status.ID), Ready: status.Ready, Message: status.Message, Attributes: api.NodeAttributes(*status, spec.Labels),
		Cordoned: spec.Availability == api.NodeCordoned, Draining: spec.Availability == api.NodeDrained,
		Runtime: status.Runtime, Arch: status.Arch, MemoryBytes: status.MemoryBytes, CPUs: status.CPUs,
	}
	if losses := snapshot.Losses(status.ID); losses.Exists() && liveness.Damped(*losses.Value) {
		out.Losses, out.Until = len(losses.Value.At), losses.Value.Until
	}
	return out
}
