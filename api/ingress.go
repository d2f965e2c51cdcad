package api

import (
	"slices"
	"strings"
)

// IngressSpec declares which requests a workload of the same scope serves.
type IngressSpec struct {
	// Host is a DNS name; *.example.org takes every name one level below. An ingress has a host or Listen.
	Host string `json:"host,omitempty" hcl:"host,optional"`
	// Listen is a port of every node whose connections (TCP) or datagrams (UDP) go to the pods as they are: see
	// ParseListen.
	Listen string `json:"listen,omitempty" hcl:"listen,optional"`
	// ProxyProtocol says to the pods where each connection, or datagram, comes from, by a header of the PROXY protocol 2
	// before it. It belongs to Listen. Default: false.
	ProxyProtocol bool `json:"proxy_protocol,omitempty" hcl:"proxy_protocol,optional"`
	// Service names the deployment. Default: the ingress's own name.
	Service string `json:"service,omitempty" hcl:"service,optional"`
	// Port of the containers. Default: the container side of the workload's first port, else the port of Listen, else 80.
	Port int `json:"port,omitempty" hcl:"port,optional"`
	// TLS is the policy of the whole host. Without it the ingress takes that of the host, if another ingress declares
	// one.
	TLS       *IngressTLS       `json:"tls,omitempty" hcl:"tls,block"`
	Locations []IngressLocation `json:"locations,omitempty" hcl:"location,block"`
	LB        *IngressLB        `json:"lb,omitempty" hcl:"lb,block"`
	// SharedWith are scopes whose ingresses may serve other paths of the host, except those at which authorities check
	// who has it. Only the scope that claimed the host first shares it. Default: none.
	SharedWith []string `json:"shared_with,omitempty" hcl:"shared_with,optional"`
}

// IngressTLS asks for HTTPS.
type IngressTLS struct {
	// Enabled is true where the block is present.
	Enabled *bool `json:"enabled,omitempty" hcl:"enabled,optional"`
	// Provider is letsencrypt (default) or internal.
	Provider string `json:"provider,omitempty" hcl:"provider,optional"`
	Email    string `json:"email,omitempty" hcl:"email,optional"`
	// Certificate and Key name config keys of the ingress's own bucket, or its scope's, that hold a certificate (with its
	// chain) and its private key in PEM. They exclude the other fields.
	Certificate string `json:"certificate,omitempty" hcl:"certificate,optional"`
	Key         string `json:"key,omitempty" hcl:"key,optional"`
	// OnDemand gets certificates at the first request for a name that Ask answers 200 for: a GET with ?domain=NAME.
	OnDemand bool   `json:"on_demand,omitempty" hcl:"on_demand,optional"`
	Ask      string `json:"ask,omitempty" hcl:"ask,optional"`
}

// IngressLocation takes the requests below a path.
type IngressLocation struct {
	Path string `json:"path" hcl:"path"`
	// Strip takes the path off before the request is passed on.
	Strip bool `json:"strip,omitempty" hcl:"strip,optional"`
}

// Below is the path it takes, itself and what is below it: / or one without a slash at its end.
func (l IngressLocation) Below() string {
	if trimmed := strings.TrimRight(l.Path, "/"); trimmed != "" {
		return trimmed
	}
	return "/"
}

// proofPaths are where authorities look for a proof that who asks for a certificate has the host: ACME's by HTTP-01,
// the others by a file that they name.
var proofPaths = []string{"/.well-known/acme-challenge", "/.well-known/pki-validation"}

// IsProofPath reports whether an answer at a path may prove to an authority who has the host.
func IsProofPath(path string) bool {
	return slices.ContainsFunc(proofPaths, func(proof string) bool {
		rest, below := strings.CutPrefix(path, proof)
		return below && (rest == "" || rest[0] == '/')
	})
}

// IngressLB configures the choice of a pod for each request.
type IngressLB struct {
	// Policy is round_robin (default), random, least_conn or ip_hash.
	Policy   string   `json:"policy,omitempty" hcl:"policy,optional"`
	Interval Duration `json:"interval,omitempty" hcl:"interval,optional"`
}
