package owner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

// Nodes keeps the nodes of the newest snapshot, which every reconcile reads and which seldom change. The zero value is
// ready to use.
type Nodes struct {
	mu       sync.Mutex
	snapshot records.Snapshot
	set      *NodeSet
}

// NodeSet is the nodes of a snapshot. It is shared: it must not be modified.
type NodeSet struct {
	// All lists the nodes that ever reported. Candidates lists the nodes that can have or pull an image: the node and
	// its runtime both answer.
	All        []records.Read[api.NodeStatus]
	Candidates []string
	// Alive contains the nodes that answer, including those that never reported.
	Alive map[string]bool
	// Runtimes lists the distinct names of the nodes' runtimes; the name is empty for a node whose engine never
	// answered. Plain lists the nodes that run plain processes.
	Runtimes []string
	Plain    []placement.Node
	// runtimes maps each node to its runtime.
	runtimes map[string]string
	// answers is one text with everything that can be read from the nodes that Answers returns.
	answers string
}

// At returns the nodes of a snapshot, or those of a newer one.
func (n *Nodes) At(s records.Snapshot) NodeSet {
	set := n.at(s.Plain())
	s.Kept(set, func(s records.Snapshot) any { return n.at(s) })
	return *set
}

// Answers is At for who reads no more of nodes than which there are, which of them answer, their runtimes, and what
// those say that don't answer: a report that changes none of that changes no decision.
func (n *Nodes) Answers(s records.Snapshot) NodeSet {
	set := n.at(s.Plain())
	s.Kept(set.answers, func(s records.Snapshot) any { return n.at(s).answers })
	return *set
}

func (n *Nodes) at(s records.Snapshot) *NodeSet {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stale(s) {
		before := n.set
		if n.set = nodesOf(s); before != nil && before.answers == n.set.answers {
			n.set.answers = before.answers // the same text is compared at a glance
		}
	}
	if n.snapshot.Reader == nil || s.Revision() > n.snapshot.Revision() {
		n.snapshot = s
	}
	return n.set
}

func (n *Nodes) stale(s records.Snapshot) bool {
	if n.snapshot.Reader == nil {
		return true
	}
	if s.Revision() <= n.snapshot.Revision() {
		return false
	}
	changes, known := s.Since(n.snapshot.Revision())
	if !known {
		return true
	}
	for change := range changes {
		if strings.HasPrefix(change.Key, records.ActualNodesPrefix) ||
			strings.HasPrefix(change.Key, records.AlivePrefix) ||
			strings.HasPrefix(change.Key, nodeObjects) {
			return true
		}
	}
	return false
}

// nodeObjects is the prefix of the objects of nodes, which have labels.
const nodeObjects = records.DesiredPrefix + string(api.KindNode) + "/"

func nodesOf(s records.Snapshot) *NodeSet {
	set := &NodeSet{All: s.Nodes(), Alive: map[string]bool{}, runtimes: map[string]string{}}
	for heartbeat := range s.Prefix(records.AlivePrefix) {
		set.Alive[strings.TrimPrefix(heartbeat.Key, records.AlivePrefix)] = true
	}
	var answers []string
	for _, node := range set.All {
		answers = append(answers, fmt.Sprintf("%q %q %t %q", node.Value.ID, node.Value.Runtime, node.Value.Ready,
			node.Value.Message))
		if node.Value.Ready && set.Alive[node.Value.ID] {
			set.Candidates = append(set.Candidates, node.Value.ID)
		}
		set.runtimes[node.Value.ID] = node.Value.Runtime
		if name := node.Value.Runtime; !slices.Contains(set.Runtimes, name) {
			set.Runtimes = append(set.Runtimes, name)
		}
		if fit.KindOf(node.Value.Runtime) == fit.Processes {
			labels := s.NodeSpec(node.Value.ID).Labels
			set.Plain = append(set.Plain, placement.Node{ID: node.Value.ID, Runtime: node.Value.Runtime,
				Attributes: api.NodeAttributes(*node.Value, labels)})
		}
	}
	set.answers = fmt.Sprint(answers, slices.Sorted(maps.Keys(set.Alive)))
	return set
}

// MayBePlain reports whether pods with such a need and such a placement may be plain processes, which share the ports
// of their node.
func (n NodeSet) MayBePlain(need fit.Need, block *api.Placement) bool {
	if len(n.Plain) == 0 {
		return false
	}
	var rules placement.Rules
	if block != nil {
		rules.Constraints = placement.Constraints(block.Constraints)
	}
	return slices.ContainsFunc(n.Plain, func(node placement.Node) bool { return placement.Allowed(node, need, rules) })
}
