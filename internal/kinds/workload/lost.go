package workload

import (
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/nextstep"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// readLeaving finds out which tasks are lost or misplaced, and which of them could be replaced on another node. A lost
// ordinal is only once a person says that its node is off.
func (c *workloads) readLeaving(s records.Snapshot, o *observed) {
	var leaving []*api.Task
	var misplaced func(node string) string
	moves := s.Moves(o.ref).Exists()
	for _, t := range o.tasks {
		task := t.Desired.Value
		if task.Node != "" && task.Desired == api.DesiredRunning && !t.Ended() && !t.Absence.Lost {
			if misplaced == nil {
				misplaced = c.board.Misplaced(s, task)
			}
			why := misplaced(task.Node)
			if why == "" && moves {
				why = c.rebalanced(s, *o, task)
			}
			if why != "" {
				o.misplaced[task.ID] = why
			}
		}
		if t.Absence.Lost && !o.ordered() || t.Away && o.ordered() || o.misplaced[task.ID] != "" {
			leaving = append(leaving, task)
		}
	}
	if len(leaving) > 0 {
		o.homeless = c.board.Elsewhere(s, leaving)
	}
}

// rebalanced returns a text with the node to which a rebalance moves a task, as long as that node takes it. A move that
// has begun goes on.
func (c *workloads) rebalanced(s records.Snapshot, o observed, task *api.Task) string {
	node, takes := c.board.Destination(s, task)
	begun := func(t owner.Task) bool {
		next := t.Desired.Value
		return next.Replaces == task.Slot && next.Desired == api.DesiredRunning && !t.Ended()
	}
	if node == "" || !takes && !slices.ContainsFunc(o.tasks, begun) {
		return ""
	}
	return "a rebalance moves it from node " + task.Node + " to " + node
}

// misplacement returns why a slot should leave its node, whether it can, and if not, why.
func (o observed) misplacement(task *api.Task) (why string, elsewhere bool, stays string) {
	why = o.misplaced[task.ID]
	if why == "" {
		return "", false, ""
	}
	if refusal, homeless := o.homeless[task.ID]; homeless {
		return why, false, fmt.Sprintf("pod %s stays where it is, although %s: %s", task.ContainerName(), why,
			refusal.Message)
	}
	return why, true, ""
}

// dataVolume returns the first volume that a new pod in a task's place would find empty on another node; empty if there
// is none. The pod is of the manifest, or still of the task's release. What is mounted read-only holds none of its
// data.
func (o observed) dataVolume(task *api.Task) string {
	if o.spec.Placement != nil && o.spec.Placement.SharedStorage || o.spec.Global() {
		return ""
	}
	volumes, claims := slices.Clone(o.spec.Volumes), slices.Clone(o.spec.Claims)
	if release := o.release(task.Release); release != nil {
		if spec, err := api.DecodeWorkload(o.ref.Kind, release.Spec); err == nil {
			volumes, claims = append(volumes, spec.Volumes...), append(claims, spec.Claims...)
		}
	}
	if n, ok := task.Ordinal(); ok && len(claims) > 0 {
		return api.ClaimVolume(o.ref, claims[0].Name, n)
	}
	for _, entry := range volumes {
		v, err := api.ParseVolume(entry)
		if err == nil && v.Data() {
			return v.Source
		}
	}
	return ""
}

// loss reports whether a lost task can be replaced on another node, with the reason, message and next step to show.
func (o observed) loss(t owner.Task) (elsewhere bool, reason, message, next string) {
	task := t.Desired.Value
	silent := "node " + task.Node + " does not answer"
	next = startTend(task.Node)
	refusal, homeless := o.homeless[task.ID]
	homeless = homeless && !o.followed(task.ID)
	data := o.dataVolume(task)
	switch {
	case o.ordered():
		if data == "" {
			next += "; if the machine is off, tend nodes confirm-down " + task.Node + " lets the pod start on another one"
		}
		return false, api.ReasonNodeLost, fmt.Sprintf(
			"pod %s waits for node %s, which does not answer: its container may run there still, so no second one is started",
			task.ContainerName(), task.Node), next
	case t.Absence.Together > 0:
		return false, api.ReasonEvictionPaused, fmt.Sprintf(
			"%d of %d nodes stopped answering at about the same time: their pods are not replaced until more of them answer",
			t.Absence.Together, len(o.nodes)), "bring the nodes, or the network between them, back; if the machine is off: tend nodes confirm-down " + task.Node
	case data != "":
		return false, api.ReasonNodeLost, fmt.Sprintf("%s; its pods wait for it, since their data (%s) is there",
			silent, data), next
	case homeless && len(o.nodes) > 1:
		return false, api.ReasonNodeLost, silent + ", and no other node takes its pods: " + refusal.Message, next
	case homeless:
		return false, api.ReasonNodeLost, silent + "; its pods may run there still", next
	}
	return true, api.ReasonNodeLost, silent + "; its pods are replaced on other nodes", next
}

// startTend returns the step that helps where something waits for a silent node.
func startTend(node string) string {
	return fmt.Sprintf("start Tend on node %s (systemctl start tend-agent, or tend)"+nextstep.Continues, node)
}

// followed reports whether a task that is to start after another one has a node that answers. That it took the last
// room there doesn't hold it back.
func (o observed) followed(id string) bool {
	return slices.ContainsFunc(o.tasks, func(t owner.Task) bool {
		next := t.Desired.Value
		return next.After == id && next.Desired == api.DesiredRunning && !t.Ended() && o.set.Alive[next.Node]
	})
}

// away reports whether an ended ordinal whose node doesn't answer can start on another node, with the reason, message
// and next step to show.
func (o observed) away(t owner.Task) (elsewhere bool, reason, message, next string) {
	task := t.Desired.Value
	refusal, homeless := o.homeless[task.ID]
	pod, node, is, reason := task.ContainerName(), task.Node, "does not answer", api.ReasonNodeLost
	if t.Off() {
		is, reason = "is off", api.ReasonNodeDown
	}
	if !homeless {
		return true, reason, fmt.Sprintf("node %s %s; pod %s starts on another node", node, is, pod), ""
	}
	data := o.dataVolume(task)
	if data == "" {
		return false, reason, fmt.Sprintf("pod %s waits: node %s %s, and no other node takes it: %s", pod, node, is,
			refusal.Message), refusal.Next
	}
	return false, reason,
		fmt.Sprintf("pod %s waits for node %s, which %s: its data (%s) is there", pod, node, is, data),
		fmt.Sprintf("switch the machine on and start Tend there; or give the data up: tend nodes remove %s lets the pod begin with empty volumes on another node", node)
}
