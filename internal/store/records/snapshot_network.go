package records

import "tend.dev/tend/api"

// Subnets reads which part of the network is each node's.
func (s Snapshot) Subnets() Read[api.Subnets] { return get[api.Subnets](s, SubnetsKey) }

// NetworkNode reads how a node is connected to others.
func (s Snapshot) NetworkNode(node string) Read[api.NetworkNodeStatus] {
	return get[api.NetworkNodeStatus](s, NetworkNodeKey(node))
}

// NetworkNodes returns all nodes that ever reported how they are connected.
func (s Snapshot) NetworkNodes() []Read[api.NetworkNodeStatus] {
	return collect[api.NetworkNodeStatus](s.Prefix(ActualNetworkPrefix))
}
