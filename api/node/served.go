package node

import "tend.dev/tend/api"

// Served holds what a node's proxy serves: ingresses, and the workloads they name by scope/name.
type Served struct {
	Table
	// Services maps each name in the ingresses to its service. A node that serves no ingress of a workload gets the
	// service only for its own pods, without Pods.
	Services map[string]Service
}

// Table holds the routes that the ingresses declare.
type Table struct {
	Ingresses []Ingress `json:"ingresses,omitempty"`
	// Certificates say where those of the hosts come from.
	Certificates []Certificate `json:"certificates,omitempty"`
}

// Ingress is an ingress as it is stored.
type Ingress struct {
	Ref  api.Ref         `json:"ref"`
	Spec api.IngressSpec `json:"spec"`
	// Guest is set if the host is another scope's, which shares it: the ingress doesn't get the requests by which
	// authorities check who has the host.
	Guest bool `json:"guest,omitempty"`
	// Traffic replaces serving: paused holds requests, maintenance answers them with a message. Empty: requests are
	// served.
	Traffic string `json:"traffic,omitempty"`
	Message string `json:"message,omitempty"`
}

// Service is the key of the ingress's workload in Served.Services.
func (i Ingress) Service() string { return i.Ref.Scope + "/" + i.Spec.ServiceName(i.Ref.Name) }

// Service describes a workload to a proxy: its pods on all nodes, and where they listen.
type Service struct {
	// Ports and NetworkMode are those of the spec.
	Ports       []string `json:"ports,omitempty"`
	NetworkMode string   `json:"networkMode,omitempty"`
	// At are the ports of its containers that ingresses lead to: a node takes connections of other nodes for no others.
	At   []At  `json:"at,omitempty"`
	Pods []Pod `json:"pods,omitempty"`
}

// At is a port of a container. Protocol is tcp or udp.
type At struct {
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	// Every is set if an ingress that listens at a port of every node leads there: then each node may ask for it.
	Every bool `json:"every,omitempty"`
}

// Pod is one that may serve.
type Pod struct {
	Task string `json:"task"`
	Node string `json:"node"`
	Name string `json:"name"`
	// Address is the container's, Ports what it publishes, as its node reported. Pods of other nodes have neither: they
	// are reached through their node's relay.
	Address string            `json:"address,omitempty"`
	Ports   []api.PortBinding `json:"ports,omitempty"`
	// Ready says that it is wanted, runs, and that its probes pass.
	Ready bool `json:"ready,omitempty"`
}

// Certificate is the source of a host's certificate. It may hold a key in plain text.
type Certificate struct {
	// Host is a lower-case DNS name, or *.example.org.
	Host string `json:"host"`
	// Provider is letsencrypt (the default) or internal.
	Provider string `json:"provider,omitempty"`
	// Email is the contact address for the authority.
	Email string `json:"email,omitempty"`
	// OnDemand gets certificates when the first request comes, for names that Ask answers 200 for.
	OnDemand bool   `json:"onDemand,omitempty"`
	Ask      string `json:"ask,omitempty"`
	// Confined: Ask must not be on the machine that asks, nor on its link.
	Confined bool `json:"confined,omitempty"`
	// Certificate and Key are PEM, where the user has a certificate of their own.
	Certificate []byte `json:"certificate,omitempty"`
	Key         []byte `json:"key,omitempty"`
	// Fault is the reason why the policy can't be followed, if it is known already.
	Fault string `json:"fault,omitempty"`
}
