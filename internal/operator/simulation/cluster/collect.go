package cluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Collect deletes objects whose owners are gone, and what is in namespaces that are being deleted, until ctx ends. It
// waits for pause before it acts on a change.
func (c *Cluster) Collect(ctx context.Context, pause func() time.Duration) {
	for {
		changed := c.Changed()
		c.collect()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(pause()):
		case <-ctx.Done():
			return
		}
	}
}

func (c *Cluster) collect() {
	const by = "collector"
	for _, namespace := range c.List(Namespace) {
		if namespace.GetDeletionTimestamp() == nil || c.Remove(namespace.GetName()) {
			continue
		}
		for _, k := range kinds {
			for _, live := range c.List(k.GroupVersionKind) {
				if live.GetNamespace() == namespace.GetName() && live.GetDeletionTimestamp() == nil {
					_, _ = c.Delete(live, by, live.GetUID())
				}
			}
		}
		c.Remove(namespace.GetName())
	}
	exists := c.uidsNow()
	for _, k := range kinds {
		for _, live := range c.List(k.GroupVersionKind) {
			owners := live.GetOwnerReferences()
			orphan := len(owners) > 0 && live.GetDeletionTimestamp() == nil
			for _, owner := range owners {
				orphan = orphan && !exists[owner.UID]
			}
			if orphan {
				_, _ = c.Delete(live, by, live.GetUID())
			}
		}
	}
}

func (c *Cluster) uidsNow() map[types.UID]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[types.UID]bool{}
	for _, live := range c.objects {
		all[live.GetUID()] = true
	}
	return all
}
