package records

import "tend.dev/tend/api"

// IngressStatus reads the status of an ingress.
func (s Snapshot) IngressStatus(ref api.Ref) Read[api.IngressStatus] {
	return get[api.IngressStatus](s, StatusKey(ref))
}

// IngressNodes returns all proxies that ever reported.
func (s Snapshot) IngressNodes() []Read[api.IngressNodeStatus] {
	return collect[api.IngressNodeStatus](s.Prefix(ActualIngressPrefix))
}
