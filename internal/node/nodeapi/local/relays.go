package local

import (
	"maps"
	"net/netip"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Relays implements nodeapi.Control.
func (c *Control) Relays() map[string]node.Relay {
	snap, out := c.snapshot(), map[string]node.Relay{}
	relay := c.relays(snap)
	for _, name := range c.machines(snap) {
		if relay := relay(name); relay != nil {
			out[name] = *relay
		}
	}
	return out
}

// machines returns the nodes that are or were members. The one of a server that is alone has no record.
func (c *Control) machines(snap records.Snapshot) []string {
	names := slices.Collect(maps.Keys(snap.Members()))
	if c.Own != "" && !slices.Contains(names, c.Own) {
		names = append(names, c.Own)
	}
	return names
}

// relays returns a function that reads another node's relay as far as this one needs it; nil if it doesn't. Every node
// needs to know which ones may ask it; one that serves ingresses, where to ask. A port of every node makes all of them
// both.
func (c *Control) relays(snap records.Snapshot) func(name string) *node.Relay {
	asks := len(c.portsAtEvery()) > 0 || c.servesIngress(snap)
	return func(name string) *node.Relay {
		member := snap.Member(name)
		if name == c.node || !member.Exists() && name != c.Own || member.Exists() && member.Value.Removed {
			return nil
		}
		out := &node.Relay{Asks: c.asksOthers(snap, name)}
		if !asks && !out.Asks {
			return nil
		}
		if member.Exists() {
			out.UID = member.Value.UID
		}
		if status := snap.Node(name); asks && status.Exists() && status.Value.Address.IsValid() &&
			status.Value.RelayPort != 0 {
			out.Address = netip.AddrPortFrom(status.Value.Address, status.Value.RelayPort)
		}
		return out
	}
}

// asksOthers reports whether a node serves ingresses, and so asks others for connections to their pods: that of this
// server unless it is declared otherwise.
func (c *Control) asksOthers(snap records.Snapshot, name string) bool {
	if declared := snap.NodeSpec(name).Ingress; name == c.Own {
		return declared == nil || *declared
	}
	return snap.ServesIngress(name)
}

// relayMoved returns the effect of a node's facts on those that ask it.
func relayMoved(change view.Change, status *api.NodeStatus) []effect {
	before, _ := change.Old.(*api.NodeStatus)
	if before != nil && !change.Deleted && before.Address == status.Address && before.RelayPort == status.RelayPort {
		return nil
	}
	return []effect{{all: true, relay: status.ID}}
}

// portMoved reports whether an ingress that changed listens at a port of every node now, or no longer.
func portMoved(change view.Change) bool {
	listens := func(value any) bool {
		object, ok := value.(*api.Object)
		if !ok {
			return false
		}
		spec, err := api.DecodeSpec[api.IngressSpec](*object)
		return err == nil && spec.Listen != ""
	}
	return listens(change.Old) != (!change.Deleted && listens(change.New))
}

// relaying adds the relays that changed to a frame: all of them if the node's own role may have.
func (c *Control) relaying(snap records.Snapshot, p pending, out *node.Frame) {
	if len(p.relays) == 0 {
		return
	}
	out.Relays = map[string]*node.Relay{}
	relay := c.relays(snap)
	if p.relays[c.node] {
		for _, name := range c.machines(snap) {
			out.Relays[name] = relay(name)
		}
	}
	for name := range p.relays {
		out.Relays[name] = relay(name)
	}
}
