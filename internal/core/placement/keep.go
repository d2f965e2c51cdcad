package placement

import (
	"fmt"

	"tend.dev/tend/internal/core/fit"
)

// Misplaced returns why a node may not keep a task that runs there; empty if it may. What else a node lacks for new
// tasks, memory or a place in an anti-affinity, moves none away.
func Misplaced(n Node, need fit.Need, rules Rules) string {
	if refuses := need.Refuses(n.Runtime); refuses != "" {
		return "node " + n.ID + " " + refuses
	}
	if n.Draining {
		return "node " + n.ID + " is drained"
	}
	for _, constraint := range rules.Constraints {
		if !constraint.Holds(n) {
			return fmt.Sprintf("node %s no longer meets the constraint %s", n.ID, constraint)
		}
	}
	return ""
}

// Places counts the nodes for the tasks of a workload that has one on each node: those in hosts, which have one, and
// those that may get one. An unheard one may as far as it gets other tasks.
func Places(nodes []Node, need fit.Need, rules Rules, hosts map[string]bool) (places int) {
	fits := func(n Node) bool {
		return n.Alive && n.Ready && !n.Cordoned && n.Losses == 0 && Misplaced(n, need, rules) == ""
	}
	takers := 0
	for _, n := range nodes {
		if fits(n) {
			takers++
		}
	}
	for _, n := range nodes {
		takes := n.Alive && !n.Cordoned && n.Losses == 0 && (!n.Unheard || fits(n) && takers == 1)
		if Misplaced(n, need, rules) == "" && (hosts[n.ID] || takes) {
			places++
		}
	}
	return places
}

// Allowed reports whether tasks with such a need and such rules may ever be on a node, apart from how it is now.
func Allowed(n Node, need fit.Need, rules Rules) bool {
	n.Draining = false
	return Misplaced(n, need, rules) == ""
}
