package placement

import "fmt"

// Misplaced returns why a node may not keep a task that runs there; empty if it may. What else a node lacks for new tasks,
// memory or a place in an anti-affinity, moves none away.
func Misplaced(n Node, rules Rules) string {
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

// Places counts the nodes for the tasks of a workload that has one on each node: those in hosts, which have one, and those
// that may get one.
func Places(nodes []Node, rules Rules, hosts map[string]bool) (places int) {
	for _, n := range nodes {
		if Misplaced(n, rules) == "" && (hosts[n.ID] || n.Alive && !n.Cordoned && n.Losses == 0) {
			places++
		}
	}
	return places
}
