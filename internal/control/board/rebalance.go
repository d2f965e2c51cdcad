package board

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

// Rebalance returns the moves of deployments' pods that level the nodes, among the workloads that chosen accepts. Pods
// that an earlier rebalance moves still count as moved. A workload that is in the midst of a rollout moves nothing
// else.
func (b *Board) Rebalance(snapshot records.Snapshot, chosen func(api.Ref) bool) []placement.Move {
	var in input
	b.at(snapshot, func(of records.Snapshot, l *placement.Ledger) {
		snapshot, in = of, input{l.Tasks(), l.Nodes(), l.Homes()}
	})
	byID := make(map[string]int, len(in.tasks))
	for i, t := range in.tasks {
		byID[t.ID] = i
	}
	busy, moving := map[string]bool{}, map[string]bool{}
	for i, t := range in.tasks {
		busy[t.Workload] = busy[t.Workload] || t.Node == "" && !t.Stopped && !t.Leaving
		if old, replaces := byID[t.Replaces]; replaces && !t.Stopped && !in.tasks[old].Stopped {
			busy[t.Workload] = true
			in.tasks[old].Leaving = true
		}
		if to := t.Toward; to != "" {
			in.tasks[i].Node = to
		} else if to := destination(snapshot, snapshot.Task(t.ID).Value.Owner(), t.ID); to != "" && t.Node != to &&
			open(in.nodes, to) {
			in.tasks[i].Node, moving[t.ID] = to, true
		}
	}
	candidates := map[api.Ref]bool{}
	return placement.Rebalance(in.tasks, in.nodes, in.homes, func(t placement.Task) bool {
		task := snapshot.Task(t.ID).Value
		ref := task.Owner()
		may, known := candidates[ref]
		if !known {
			may = chosen(ref) && mayMove(snapshot.Object(ref).Value)
			candidates[ref] = may
		}
		frozen := func() bool { _, marked := snapshot.Get(records.FrozenKey(ref, task.Slot)); return marked }
		return may && !busy[t.Workload] && !moving[t.ID] && task.Role == api.RoleMain && task.Run == "" && !frozen()
	})
}

// input holds all that a rebalance is decided from.
type input struct {
	tasks []placement.Task
	nodes []placement.Node
	homes map[string]string
}

// mayMove reports whether the pods of an object have no place of their own: those of a statefulset do, and those of a
// global deployment.
func mayMove(object *api.Object) bool {
	if object == nil || object.Kind != api.KindDeployment || object.Metadata.Deleting() {
		return false
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	return err == nil && !spec.Global()
}

// open reports whether a node takes tasks, whatever they ask for.
func open(nodes []placement.Node, id string) bool {
	for _, n := range nodes {
		if n.ID == id {
			return n.Alive && !n.Unheard && n.Ready && !n.Cordoned && !n.Draining && n.Losses == 0
		}
	}
	return false
}

// Destination returns the node that a rebalance moves a task to, and whether that takes it now. It is empty if nothing
// moves it.
func (b *Board) Destination(snapshot records.Snapshot, task *api.Task) (node string, takes bool) {
	node = destination(snapshot, task.Owner(), task.ID)
	if node == "" || node == task.Node {
		return "", false
	}
	snapshot.Fleeting() // whether the node takes it changes with what others need
	demand := b.demands.of(snapshot, task)
	b.at(snapshot, func(_ records.Snapshot, l *placement.Ledger) {
		takes = l.Takes(placement.Task{ID: task.ID, Workload: task.Owner().String(), Demand: demand.Demand,
			Volumes: demand.at(task)}, node)
	})
	return node, takes
}

func destination(snapshot records.Snapshot, owner api.Ref, task string) string {
	if moves := snapshot.Moves(owner); moves.Exists() {
		return moves.Value.Tasks[task]
	}
	return ""
}
