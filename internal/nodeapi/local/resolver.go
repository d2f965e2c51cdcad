package local

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

var progressOf = map[api.ImageState]placement.Progress{
	api.ImageFailed: placement.Failed, api.ImagePulling: placement.Working, api.ImageBuilding: placement.Working, api.ImagePresent: placement.Present,
}

// resolves reports whether the node is one of those that answer a request for an image. A node that asks is alive, even
// if its heartbeat isn't stored yet.
func (c *Control) resolves(snap records.Snapshot, request api.ImageRequest) bool {
	at := map[string]*placement.Resolver{c.node: {Node: c.node, Alive: true}}
	of := func(node string) *placement.Resolver {
		if at[node] == nil {
			at[node] = &placement.Resolver{Node: node}
		}
		return at[node]
	}
	for record := range snap.Prefix(records.AlivePrefix) {
		of(strings.TrimPrefix(record.Key, records.AlivePrefix)).Alive = true
	}
	for _, status := range snap.ImageStatuses(request.Owner) {
		if status.Value.Answers(request) {
			of(status.Value.Node).Progress = progressOf[status.Value.State]
		}
	}
	for _, task := range snap.TasksOf(request.Owner) {
		if task.Value.Node != "" && task.Value.Desired == api.DesiredRunning {
			of(task.Value.Node).Runs = true
		}
	}
	nodes := make([]placement.Resolver, 0, len(at))
	for _, n := range at {
		nodes = append(nodes, *n)
	}
	return slices.Contains(placement.Resolvers(request.Owner.String(), nodes), c.node)
}
