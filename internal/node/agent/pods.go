package agent

import (
	"net/netip"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
)

// Pods returns the scopes of this machine's containers by address, init containers among them. It returns false until
// they have been listed, which waits for a server: what it returns says nothing of them.
func (a *Agent) Pods() (node.Pods, bool) {
	listed := a.watcher.found.Load() // before they are read
	c := a.containers
	c.mu.Lock()
	defer c.mu.Unlock()
	out := node.Pods{}
	for _, e := range c.entries {
		place(out, e.address(), e.container)
	}
	return out, listed
}

// PodsOf returns the same of containers that were listed.
func PodsOf(listed []runtime.Container) node.Pods {
	out := node.Pods{}
	for _, c := range listed {
		place(out, addressOf(c), c)
	}
	return out
}

func place(in node.Pods, at string, c runtime.Container) {
	if address, err := netip.ParseAddr(at); err == nil && !address.IsLoopback() {
		in[address] = c.Labels[api.LabelScope]
	}
}

// address returns the address of a container that runs, as far as is known; empty if it has none. That of one whose end
// was reported may be another's by now.
func (e *entry) address() string {
	if e.died {
		return ""
	}
	return addressOf(e.container)
}

func addressOf(c runtime.Container) string {
	if !live(c) {
		return ""
	}
	return c.Address
}

// moves calls moved if an address changed.
func (c *containers) moves(before, after string) {
	if before != after {
		c.moved()
	}
}
