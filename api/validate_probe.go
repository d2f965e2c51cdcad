package api

import (
	"maps"
	"slices"
	"time"
)

func (c *checker) probes(p *Probes) {
	if p == nil {
		return
	}
	for _, probe := range []struct {
		field string
		value *Probe
	}{{"probes.liveness", p.Liveness}, {"probes.readiness", p.Readiness}, {"probes.startup", p.Startup}} {
		if probe.value != nil {
			c.probe(probe.field, *probe.value)
		}
	}
}

func (c *checker) probe(field string, p Probe) {
	questions := 0
	if p.HTTPGet != nil {
		questions++
		if p.HTTPGet.Path == "" || p.HTTPGet.Path[0] != '/' {
			c.add(field+".http_get.path", "%q does not begin with /", p.HTTPGet.Path)
		}
		c.between(field+".http_get.port", p.HTTPGet.Port, 1, 65535)
		c.oneOf(field+".http_get.scheme", p.HTTPGet.Scheme, "http", "https")
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

func (c *checker) inits(inits []Init) {
	var names []string
	for i, init := range inits {
		field := index("inits", i)
		c.name(field+".name", init.Name)
		if slices.Contains(names, init.Name) {
			c.add(field+".name", "%q is used twice", init.Name)
		}
		names = append(names, init.Name)
		if len(init.Command) == 0 {
			c.add(field+".command", "is required")
		}
		c.argv(field+".command", init.Command)
		if init.Image != "" && !hasReference(init.Image) {
			c.addError(field+".image", CheckImage(init.Image))
		}
		c.duration(field+".timeout", init.Timeout, time.Second, maxWait)
		c.between(field+".retries", init.Retries, 0, 5)
		for _, name := range slices.Sorted(maps.Keys(init.Ulimits)) {
			_, _, _, err := ParseUlimit(name + "=" + init.Ulimits[name])
			c.addError(key(field+".ulimits", name), err)
		}
		c.resources(field+".resources", init.Resources)
	}
}
