package remote

import (
	"maps"

	"tend.dev/tend/api/node"
)

// connect applies what a frame says of the network.
func (c *contents) connect(frame node.Frame) {
	switch {
	case frame.Network != nil:
		if c.network = *frame.Network; c.network.Driver == "" {
			c.pods = nil
		}
	case len(frame.Peers) > 0:
		c.network.Peers = changed(c.network.Peers, frame.Peers)
	}
	if len(frame.Relays) > 0 {
		c.relays = changed(c.relays, frame.Relays)
	}
	if len(frame.Pods)+len(frame.Moved) == 0 {
		return
	}
	next := maps.Clone(c.pods) // Pods returned the old one
	if next == nil {
		next = map[string]node.Pods{}
	}
	for name, pods := range frame.Pods {
		if next[name] = pods; len(pods) == 0 {
			delete(next, name)
		}
	}
	for name, moved := range frame.Moved {
		if next[name] = movedIn(next[name], moved); len(next[name]) == 0 {
			delete(next, name)
		}
	}
	c.pods = next
}

// movedIn returns a copy of pods in which some addresses have another scope, or none.
func movedIn(pods, moved node.Pods) node.Pods {
	next := maps.Clone(pods)
	if next == nil {
		next = node.Pods{}
	}
	for address, scope := range moved {
		if next[address] = scope; scope == "" {
			delete(next, address)
		}
	}
	return next
}

// changed returns a copy of what is known of nodes with changes: callers may still have the old one.
func changed[T any](known map[string]T, changes map[string]*T) map[string]T {
	next := maps.Clone(known)
	if next == nil {
		next = map[string]T{}
	}
	for name, change := range changes {
		if change == nil {
			delete(next, name)
		} else {
			next[name] = *change
		}
	}
	return next
}

// Relays implements nodeapi.Control.
func (m *mirror) Relays() map[string]node.Relay {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.known.relays
}

// Pods implements nodeapi.Control. Those that come before their network, after which all of them come, count with it.
func (m *mirror) Pods() map[string]node.Pods {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.known.network.Driver == "" {
		return nil
	}
	return m.known.pods
}

// Network implements nodeapi.Control.
func (m *mirror) Network() node.Network {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.known.network
}
