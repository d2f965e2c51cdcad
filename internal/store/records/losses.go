package records

import "tend.dev/tend/api"

// Losses returns a node's losses within the last hour.
func (s Snapshot) Losses(node string) Read[api.NodeLosses] {
	return get[api.NodeLosses](s, LossesKey(node))
}

// NodeState reads a node's state in the control plane.
func (s Snapshot) NodeState(node string) Read[api.NodeState] {
	return get[api.NodeState](s, NodeStateKey(node))
}
