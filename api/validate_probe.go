package api

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (c *checker) probes(s DeploymentSpec) {
	p := s.Probes
	if p == nil {
		return
	}
	for _, probe := range []struct {
		field string
		value *Probe
	}{{"probes.liveness", p.Liveness}, {"probes.readiness", p.Readiness}, {"probes.startup", p.Startup}} {
		if probe.value == nil {
			continue
		}
		c.probe(probe.field, *probe.value)
		if s.NetworkMode == "none" && probe.value.Exec == nil {
			c.add(probe.field, "can't reach a container with network_mode none; use exec")
		}
	}
}

func (c *checker) probe(field string, p Probe) {
	questions := 0
	if p.HTTPGet != nil {
		questions++
		c.httpGet(field+".http_get", *p.HTTPGet)
	}
	if p.TCPSocket != nil {
		questions++
		c.between(field+".tcp_socket.port", p.TCPSocket.Port, 1, 65535)
	}
	if p.Exec != nil {
		questions++
		if len(p.Exec.Command) == 0 {
			c.add(field+".exec.command", "is required")
		}
		c.argv(field+".exec.command", p.Exec.Command)
	}
	if questions != 1 {
		c.add(field, "has exactly one of http_get, tcp_socket and exec, not %d", questions)
	}
	c.duration(field+".initial_delay", p.InitialDelay, 0, maxWait)
	c.duration(field+".period", p.Period, 100*time.Millisecond, maxWait)
	c.duration(field+".timeout", p.Timeout, time.Millisecond, maxWait)
	c.between(field+".failure_threshold", p.FailureThreshold, 0, 1000)
	c.between(field+".success_threshold", p.SuccessThreshold, 0, 1000)
}

func (c *checker) httpGet(field string, get HTTPGet) {
	if get.Path == "" || get.Path[0] != '/' {
		c.add(field+".path", "%q does not begin with /", get.Path)
	} else if _, err := url.Parse("http://x" + get.Path); err != nil || strings.ContainsAny(get.Path, " \t\r\n#") {
		c.add(field+".path", "%q is not a path of a URL; write a space as %%20", get.Path)
	}
	c.between(field+".port", get.Port, 1, 65535)
	c.oneOf(field+".scheme", get.Scheme, "http", "https")
	for _, name := range slices.Sorted(maps.Keys(get.HTTPHeaders)) {
		if !headerName(name) || strings.ContainsAny(get.HTTPHeaders[name], "\r\n\x00") {
			c.add(key(field+".http_headers", name), "is not a header")
		}
	}
}
