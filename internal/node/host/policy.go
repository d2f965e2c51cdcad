package host

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/netpolicy"
	"tend.dev/tend/internal/platform/recovery"
)

// newPolicy returns the Keeper that separates the scopes of this machine's containers; nil if they have no network of
// their own.
func (h *Host) newPolicy() *netpolicy.Keeper {
	if h.overlay == nil || h.bridged == nil {
		return nil
	}
	keeper := netpolicy.New(netpolicy.Options{
		Network: h.Control.Network, Pods: h.Control.Pods, Local: h.localPods, Subnet: h.bridged.Subnet, Used: h.overlay.Used,
		Synced: h.Control.Synced(), Hold: h.Hold, File: filepath.Join(h.Root, "network.json"), Kernel: netpolicy.System(),
		Changed: h.overlay.Changed, Logger: h.Logger,
	})
	h.Control.Subscribe(func(change node.Change) {
		if change.Network || change.Pods {
			keeper.Notify()
		}
	})
	return keeper
}

// localPods returns the addresses of this machine's containers. The agent lists them only once a server has answered:
// until then the engine is asked.
func (h *Host) localPods(ctx context.Context) (node.Pods, error) {
	if pods, listed := h.agent.Pods(); listed {
		return pods, nil
	}
	listed, err := h.runtime.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	return agent.PodsOf(listed), nil
}

// watchUnsynced renews the rules between scopes as containers come and go, until a server answers. From then on the
// agent does.
func (h *Host) watchUnsynced(ctx context.Context) error {
	unsynced, cancel := context.WithCancel(ctx)
	defer cancel()
	recovery.Go(func() {
		select {
		case <-h.Control.Synced():
			cancel()
		case <-unsynced.Done():
		}
	})
	for unsynced.Err() == nil {
		events, err := h.runtime.Events(unsynced)
		for open := err == nil; open; {
			h.policy.Notify()
			select {
			case <-unsynced.Done():
				open = false
			case _, open = <-events:
			}
		}
		select {
		case <-unsynced.Done():
		case <-time.After(engineBackoff):
		}
	}
	<-ctx.Done()
	return nil
}

// engineBackoff is the pause before an engine that does not answer is asked again.
const engineBackoff = 5 * time.Second

// podsMoved is called when containers of this machine have new addresses.
func (h *Host) podsMoved() {
	if h.policy != nil {
		h.policy.Notify()
	}
}

// policyFault returns the reason why scopes are not kept apart here; "" if they are, or needn't be.
func (h *Host) policyFault() string {
	if h.policy == nil {
		return ""
	}
	return h.policy.Fault()
}
