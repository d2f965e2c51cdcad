package hollow

import (
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// firstFreePort is the first port that the engine chooses.
const firstFreePort = 32768

// bindLocked binds a container's published ports. Its error names the container that holds one.
func (e *Engine) bindLocked(c *container) error {
	var ports []api.PortBinding
	for _, entry := range c.spec.Spec.Ports {
		spec, err := api.NormalizePort(entry)
		if err != nil {
			return &runtime.RejectedError{Reason: "InvalidPort", Detail: fmt.Sprintf("ports entry %q: %v", entry, err)}
		}
		for i := range spec.Container.Len() {
			host := spec.Host.First + i
			if spec.Host.Len() == 0 {
				host = firstFreePort + e.nextLocked()%(65536-firstFreePort)
			}
			binding := api.PortBinding{
				Container: spec.Container.First + i, Protocol: spec.Protocol, HostIP: spec.HostIP, HostPort: host,
			}
			if holder := e.holderLocked(binding); holder != nil {
				return &runtime.RejectedError{
					Reason: "PortTaken", Detail: fmt.Sprintf("port %d of %s is held by %s", host, spec.HostIP, holder.name),
					Next: "choose another host port, or stop what holds it",
				}
			}
			ports = append(ports, binding)
		}
	}
	c.ports = ports
	return nil
}

func (e *Engine) holderLocked(wanted api.PortBinding) *container {
	for _, c := range e.containers {
		if !c.alive() {
			continue
		}
		for _, held := range c.ports {
			if held.HostPort == wanted.HostPort && held.Protocol == wanted.Protocol && overlap(held.HostIP, wanted.HostIP) {
				return c
			}
		}
	}
	return nil
}

func overlap(a, b string) bool {
	return a == b || a == "" || b == "" || a == "0.0.0.0" || b == "0.0.0.0"
}
