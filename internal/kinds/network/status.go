package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/records"
)

func status(at control.Observation, before api.NetworkStatus) api.NetworkStatus {
	next := api.NetworkStatus{
		ObservedGeneration: at.Object.Value.Metadata.Generation, ObservedRevision: at.Object.Modified,
		Conditions: before.Conditions, Nodes: nodes(at.Snapshot),
	}
	ready, degraded := judge(next.Nodes)
	next.Conditions = api.SetCondition(next.Conditions, ready, at.Now)
	next.Conditions = api.SetCondition(next.Conditions, degraded, at.Now)
	return next
}

// nodes lists the nodes by name, with why they are not connected.
func nodes(s records.Snapshot) (out []api.NetworkNode) {
	_, refused := assign(s)
	reported := map[string]api.NetworkNodeStatus{}
	for _, node := range s.NetworkNodes() {
		reported[node.Value.Node] = *node.Value
	}
	for _, known := range s.Nodes() {
		name := known.Value.ID
		is := reported[name]
		entry := api.NetworkNode{Node: name, Address: is.Address, Connected: is.Connected, Message: is.Message,
			Subnet: subnetOf(s, name)}
		switch {
		case refused[name] != "":
			entry.Connected, entry.Message = false, refused[name]
		case !s.Alive(name): // what it said last is out of date
			entry.Connected, entry.Message = false, silent
		}
		out = append(out, entry)
	}
	slices.SortFunc(out, func(a, b api.NetworkNode) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// silent is the message of a node that doesn't answer.
const silent = "it does not answer"

// judge returns the conditions Ready (all nodes are connected) and Degraded (a node that isn't connected needs a
// person to act).
func judge(nodes []api.NetworkNode) (ready, degraded api.Condition) {
	var waiting, apart, gone []string
	for _, node := range nodes {
		switch {
		case node.Connected:
		case node.Message == silent:
			gone = append(gone, node.Node)
		case node.Message == "":
			waiting = append(waiting, node.Node)
		default:
			apart = append(apart, node.Node+": "+node.Message)
		}
	}
	ready = api.Condition{
		Type: api.ConditionReady, Status: api.ConditionTrue, Reason: api.ReasonConnected,
		Message: fmt.Sprintf("%d of %d nodes are connected", len(nodes)-len(apart)-len(waiting)-len(gone), len(nodes)),
	}
	degraded = api.Condition{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: "AsExpected"}
	if len(gone) > 0 { // it is the nodes that are wrong, not the network
		ready.Message += "; no answer comes from " + strings.Join(gone, ", ")
	}
	if len(waiting) > 0 {
		ready.Status, ready.Reason = api.ConditionFalse, api.ReasonNotConnected
		ready.Message += ", and waiting for " + strings.Join(waiting, ", ")
	}
	if len(apart) > 0 {
		ready.Status, ready.Reason = api.ConditionFalse, api.ReasonNotConnected
		degraded.Status, degraded.Reason, degraded.Message = api.ConditionTrue, api.ReasonNotConnected,
			strings.Join(apart, "; ")
	}
	return ready, degraded
}
