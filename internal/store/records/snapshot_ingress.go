package records

import "tend.dev/tend/api"

// IngressStatus reads the status of an ingress.
func (s Snapshot) IngressStatus(ref api.Ref) Read[api.IngressStatus] {
	return get[api.IngressStatus](s, StatusKey(ref))
}

// IngressNode reads the state of a node's proxy.
func (s Snapshot) IngressNode(node string) Read[api.IngressNodeStatus] {
	return get[api.IngressNodeStatus](s, IngressNodeKey(node))
}

// IngressNodes returns all proxies that ever reported.
func (s Snapshot) IngressNodes() []Read[api.IngressNodeStatus] {
	return collect[api.IngressNodeStatus](s.Prefix(ActualIngressPrefix))
}
