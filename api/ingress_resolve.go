package api

import "cmp"

// DefaultIngressPort is asked where neither the ingress nor the workload names one.
const DefaultIngressPort = 80

// Secure reports whether the host is served with TLS.
func (s IngressSpec) Secure() bool {
	return s.TLS != nil && (s.TLS.Enabled == nil || *s.TLS.Enabled)
}

// ServiceName is Service with its default, the ingress's own name.
func (s IngressSpec) ServiceName(own string) string {
	return cmp.Or(s.Service, own)
}

// NoService says that there is no workload for the spec to lead to, given its ingress.
func (s IngressSpec) NoService(own Ref) string {
	missing := "there is no deployment or statefulset " + own.Scope + "/" + s.ServiceName(own.Name)
	if s.Service == "" {
		return "it names no `service`, so it leads to " + own.Scope + "/" + own.Name + ", and " + missing
	}
	return missing
}

// PortOf is Port with its default: the container side of the workload's first port, else the port of Listen, else 80.
func (s IngressSpec) PortOf(workload DeploymentSpec) int {
	if s.Port != 0 {
		return s.Port
	}
	for _, entry := range workload.Ports {
		if port, err := NormalizePort(entry); err == nil && port.Container.First > 0 {
			return port.Container.First
		}
	}
	if at := s.ListensAt(); at.Port != 0 {
		return at.Port
	}
	return DefaultIngressPort
}

// Protocol is the protocol towards the pods: tcp or udp.
func (s IngressSpec) Protocol() string { return cmp.Or(s.ListensAt().Protocol, ProtocolTCP) }

// ListensAt is Listen as the proxies take it; the zero value for an ingress with a host, and for what can't be read.
func (s IngressSpec) ListensAt() Listen {
	if s.Listen == "" {
		return Listen{}
	}
	at, err := ParseListen(s.Listen)
	if err != nil {
		return Listen{}
	}
	return at
}
