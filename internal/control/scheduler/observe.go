package scheduler

import (
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/records"
)

// tasks converts the store's tasks for placement; waiting reports whether one of them needs a node.
func (s *Scheduler) tasks(snapshot records.Snapshot) (out []placement.Task, waiting bool) {
	for _, read := range snapshot.Tasks() {
		task := read.Value
		status := snapshot.TaskStatus(task.ID).Value
		if task.Desired == api.DesiredRemoved && status == nil {
			continue
		}
		demand := s.demands.of(snapshot, task)
		if task.Role != api.RoleMain {
			demand.ports = nil // a command of a release publishes nothing
		}
		out = append(out, placement.Task{
			ID: task.ID, Name: task.ContainerName(), Workload: task.Owner().String(), Node: task.Node, After: task.After, Replaces: taskOf(snapshot, task),
			Leaving: task.Desired != api.DesiredRunning,
			Stopped: status != nil && status.State.Terminal() || task.Node == "" && task.Desired != api.DesiredRunning,
			Ports:   demand.ports, MemoryBytes: demand.memory, CPUs: demand.cpus, CreatedAt: task.CreatedAt,
		})
		waiting = waiting || task.Node == "" && task.Desired == api.DesiredRunning
	}
	return out, waiting
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
		node := read.Value
		out = append(out, placement.Node{
			ID: node.ID, Alive: snapshot.Alive(node.ID), Ready: node.Ready, Message: node.Message,
			Runtime: node.Runtime, MemoryBytes: node.MemoryBytes, CPUs: node.CPUs,
		})
	}
	return out
}

// demand is what a release's containers require of a node.
type demand struct {
	ports  []ports.Port
	memory int64
	cpus   float64
}

// demands caches what was read from releases: they never change.
type demands struct {
	mu    sync.Mutex
	known map[int64]demand // by the revision that created the release
}

func newDemands() *demands { return &demands{known: map[int64]demand{}} }

func (d *demands) of(snapshot records.Snapshot, task *api.Task) demand {
	release := snapshot.Release(task.Owner(), task.Release)
	if !release.Exists() {
		return demand{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := release.Created // an id may come back after its object was deleted; the revision never does
	if known, ok := d.known[key]; ok {
		return known
	}
	if len(d.known) > 100_000 {
		clear(d.known)
	}
	d.known[key] = demandOf(*release.Value)
	return d.known[key]
}

func demandOf(release api.Release) demand {
	spec, err := api.DecodeSpec[api.DeploymentSpec](api.Object{Spec: release.Spec})
	if err != nil {
		return demand{} // it was validated when it was applied
	}
	out := demand{ports: ports.Fixed(spec)}
	if spec.Resources != nil && spec.Resources.Limits != nil {
		out.cpus, _ = api.ParseCPU(spec.Resources.Limits.CPU)
		out.memory, _ = api.ParseMemory(spec.Resources.Limits.Memory)
	}
	return out
}
