package api

import "time"

// IngressNodeStatus describes the proxy of a node. Key /actual/ingress/<node>; that node's agent alone writes it.
type IngressNodeStatus struct {
	Node  string         `json:"node"`
	HTTP  ListenerStatus `json:"http"`
	HTTPS ListenerStatus `json:"https"`
	// Ports maps each Listen.String to the status of that port.
	Ports map[string]ListenerStatus `json:"ports,omitempty"`
	// Certificates maps each host to the status of its certificate.
	Certificates map[string]CertificateStatus `json:"certificates,omitempty"`
	// Unreached maps each node with pods of these hosts that the proxy can't reach to the reason.
	Unreached map[string]string `json:"unreached,omitempty"`
}

// ListenerStatus describes one listener.
type ListenerStatus struct {
	// Address it listens at, or is meant to; empty where it is turned off.
	Address string `json:"address,omitempty"`
	// Wanted: an ingress needs it. Error says why it isn't open then.
	Wanted bool   `json:"wanted,omitempty"`
	Open   bool   `json:"open,omitempty"`
	Error  string `json:"error,omitempty"`
}

// CertificateStatus describes the certificate of a host.
type CertificateStatus struct {
	// NotAfter is the certificate's expiry; zero without a certificate. Tend renews it earlier.
	NotAfter time.Time `json:"notAfter,omitzero"`
	// Error is the cause of the last failed attempt to get or renew it, At the time of that attempt. Tend retries.
	Error string    `json:"error,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// IngressStatus is the status of an ingress. Its controller alone writes it.
type IngressStatus struct {
	// ObservedGeneration and ObservedRevision say which write of the object this status describes.
	ObservedGeneration int64 `json:"observedGeneration"`
	ObservedRevision   int64 `json:"observedRevision"`
	// URL is the URL that it is served at; Host and TLS are its parts.
	URL  string `json:"url,omitempty"`
	Host string `json:"host,omitempty"`
	TLS  bool   `json:"tls,omitempty"`
	// Listen is the port of every node, such as 5432/tcp, in place of a host.
	Listen string `json:"listen,omitempty"`
	// Service is the workload that serves, Port the containers'; ReadyPods of Pods get requests now.
	Service   string `json:"service,omitempty"`
	Port      int    `json:"port,omitempty"`
	ReadyPods int    `json:"readyPods"`
	Pods      int    `json:"pods"`
	// Traffic is paused or maintenance where an operator said so.
	Traffic     string             `json:"traffic,omitempty"`
	Certificate *CertificateStatus `json:"certificate,omitempty"`
	Conditions  []Condition        `json:"conditions,omitempty"`
}

// The values of the stamp StampTraffic, before a colon and a message.
const (
	TrafficPaused      = "paused"
	TrafficMaintenance = "maintenance"
)
