package imageask

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

var progressOf = map[api.ImageState]placement.Progress{
	api.ImageFailed: placement.Failed, api.ImagePulling: placement.Working, api.ImageBuilding: placement.Working,
	api.ImagePresent: placement.Present,
}

// Nodes returns the nodes to ask for an image, and whether one of them has it. self counts as alive, even if its
// heartbeat isn't stored yet: it is the node that asks.
func Nodes(snap records.Snapshot, request api.ImageRequest, self string) (asked []string, present bool) {
	at := map[string]*placement.Resolver{}
	of := func(node string) *placement.Resolver {
		if at[node] == nil {
			at[node] = &placement.Resolver{Node: node, Alive: node == self}
		}
		return at[node]
	}
	for _, status := range snap.ImageStatuses(request.Owner) {
		if status.Value.Answers(request) && fit.Kind(request.Runtime).Takes(status.Value.Runtime) {
			of(status.Value.Node).Progress = progressOf[status.Value.State]
			present = present || status.Value.State == api.ImagePresent
		}
	}
	if !present { // otherwise the other nodes don't matter
		for record := range snap.Prefix(records.AlivePrefix) {
			of(strings.TrimPrefix(record.Key, records.AlivePrefix)).Alive = true
		}
		for _, task := range snap.TasksOf(request.Owner) {
			if task.Value.Node != "" && task.Value.Desired == api.DesiredRunning {
				of(task.Value.Node).Runs = true
			}
		}
		if self != "" {
			of(self)
		}
		reluctant(snap, request, at)
	}
	nodes := make([]placement.Resolver, 0, len(at))
	for name, n := range at {
		if n.Plain = fit.KindOf(runtimeOf(snap,
			name)) == fit.Processes; fit.Kind(request.Runtime).Takes(runtimeOf(snap, name)) {
			nodes = append(nodes, *n)
		}
	}
	return placement.Resolvers(request.Owner.String(), nodes), present
}

// runtimeOf returns the runtime that a node reports; empty if it has reported none.
func runtimeOf(snap records.Snapshot, name string) string {
	if node := snap.Node(name); node.Exists() {
		return node.Value.Runtime
	}
	return ""
}

// reluctant marks the nodes that are asked last: those that a person set aside, and those that were asked before and
// haven't answered.
func reluctant(snap records.Snapshot, request api.ImageRequest, at map[string]*placement.Resolver) {
	for name, n := range at {
		availability := snap.NodeSpec(name).Availability
		n.Aside = availability == api.NodeCordoned || availability == api.NodeDrained
	}
	if vain := snap.Unanswered(request.Owner); vain.Exists() && vain.Value.Of(request) {
		for _, name := range vain.Value.Nodes {
			if n := at[name]; n != nil {
				n.Silent = true
			}
		}
	}
}

// Waiting returns the node that was asked and has not answered so far, or "".
func Waiting(snap records.Snapshot, request api.ImageRequest) string {
	asked, present := Nodes(snap, request, "")
	if present {
		return ""
	}
	answers := snap.ImageStatuses(request.Owner)
	for _, node := range asked {
		if !slices.ContainsFunc(answers,
			func(a records.Read[api.ImageStatus]) bool { return a.Value.Node == node && a.Value.Answers(request) }) {
			return node
		}
	}
	return ""
}
