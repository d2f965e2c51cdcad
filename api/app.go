package api

// AppSpec declares a deployment and the ingress to it in one block. It is a macro: a reader of manifests turns it into
// those two objects, of the same scope and name, and it is never stored.
type AppSpec struct {
	DeploymentSpec
	// Host is a DNS name; *.example.org takes every name one level below.
	Host string `json:"host" hcl:"host"`
	// TLS, Locations, LB and SharedWith are the ingress's.
	TLS       *IngressTLS       `json:"tls,omitempty" hcl:"tls,block"`
	Locations []IngressLocation `json:"locations,omitempty" hcl:"location,block"`
	LB        *IngressLB        `json:"lb,omitempty" hcl:"lb,block"`
	// SharedWith are scopes whose ingresses may serve other paths of the host.
	SharedWith []string `json:"shared_with,omitempty" hcl:"shared_with,optional"`
}
