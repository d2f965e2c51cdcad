package api

import "strings"

// EffectiveProbes returns the probes of the workload's containers: those it declares, and a readiness probe that is
// derived from HealthCheck where it declares none. So a container whose health check fails gets no traffic. A
// HealthCheck that isn't a path derives nothing, and neither does a workload without a TCP port to ask at.
func (s DeploymentSpec) EffectiveProbes() *Probes {
	if s.Probes.None() {
		return s.Probes
	}
	path := strings.HasPrefix(s.HealthCheck, "/") && !strings.ContainsAny(s.HealthCheck, " \t\r\n#")
	if !path || s.NetworkMode == "none" || s.Probes != nil && s.Probes.Readiness != nil {
		return s.Probes
	}
	port, ok := s.firstTCPPort()
	if !ok {
		return s.Probes
	}
	out := Probes{Readiness: &Probe{HTTPGet: &HTTPGet{Path: s.HealthCheck, Port: port}}}
	if s.Probes != nil {
		out.Liveness, out.Startup = s.Probes.Liveness, s.Probes.Startup
	}
	return &out
}

// firstTCPPort returns the container's side of the first TCP port, which is where an ingress sends requests by default.
func (s DeploymentSpec) firstTCPPort() (int, bool) {
	for _, entry := range s.Ports {
		if port, err := NormalizePort(entry); err == nil && port.Protocol == "tcp" {
			return port.Container.First, true
		}
	}
	return 0, false
}
