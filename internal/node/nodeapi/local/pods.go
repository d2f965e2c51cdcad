package local

import (
	"net/netip"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Pods implements nodeapi.Control.
func (c *Control) Pods() map[string]node.Pods {
	snap := c.snapshot()
	sees, out := c.sees(snap), map[string]node.Pods{}
	for _, other := range snap.Nodes() {
		if !sees(other.Value.ID) {
			continue
		}
		if pods := c.pods.on(snap, other.Value.ID); other.Value.ID != c.node && len(pods) > 0 {
			out[other.Value.ID] = pods
		}
	}
	return out
}

// placed keeps the pods of nodes as of the newest snapshot: each change of one is read for every other node.
// The zero value is ready to use.
type placed struct {
	mu       sync.Mutex
	revision int64
	nodes    map[string]node.Pods
}

// on returns the pods of a node that have an address of their own. They are shared: they must not be modified.
func (p *placed) on(snap records.Snapshot, on string) node.Pods {
	p.mu.Lock()
	defer p.mu.Unlock()
	revision := snap.Revision()
	if revision < p.revision {
		return podsOn(snap, on) // what is kept is newer
	}
	if revision > p.revision || p.nodes == nil {
		p.revision, p.nodes = revision, map[string]node.Pods{}
	}
	pods, known := p.nodes[on]
	if !known {
		pods = podsOn(snap, on)
		p.nodes[on] = pods
	}
	return pods
}

// podsOn returns the pods of a node that have an address of their own.
func podsOn(snap records.Snapshot, on string) node.Pods {
	out := node.Pods{}
	for _, task := range snap.TasksOn(on) {
		status := snap.TaskStatus(task.Value.ID)
		if !status.Exists() {
			continue
		}
		if address := ownAddress(status.Value); address.IsValid() && mayHave(snap, on, address) {
			out[address] = task.Value.Scope
		}
	}
	return out
}

// ownAddress returns the address that a running pod has for itself; invalid if it has none.
func ownAddress(status *api.TaskStatus) netip.Addr {
	address, err := netip.ParseAddr(status.Address)
	if err != nil || address.IsLoopback() || status.State.Terminal() {
		return netip.Addr{}
	}
	return address
}

// podMoved returns the effect on the others of a pod that got an address, has another one or none any more. Without a
// network nothing follows from it.
func (s *Service) podMoved(change view.Change, status *api.TaskStatus) []effect {
	var before, after netip.Addr
	if old, ok := change.Old.(*api.TaskStatus); ok {
		before = ownAddress(old)
	}
	if !change.Deleted {
		after = ownAddress(status)
	}
	if before == after || !s.snapshot().Object(api.NetworkRef).Exists() {
		return nil
	}
	return []effect{{all: true, pods: status.Node, moved: [2]netip.Addr{before, after}}}
}
