package remote

import (
	"net/netip"
	"testing"

	"tend.dev/tend/api/node"
)

// TestPodsCountWithTheirNetwork: a node that continues in the middle may be sent a pod of another before the network.
func TestPodsCountWithTheirNetwork(t *testing.T) {
	m, at := newMirror(), netip.MustParseAddr("10.80.4.2")
	m.apply(node.Frame{Reset: true})
	m.apply(node.Frame{Revision: 1, Epoch: "e", Network: &node.Network{}})
	m.apply(node.Frame{Revision: 2, Moved: map[string]node.Pods{"n2": {at: "shop"}}})
	if pods := m.Pods(); len(pods) > 0 {
		t.Errorf("without a network: %v", pods)
	}
	m.apply(node.Frame{Revision: 3, Network: &node.Network{Driver: "vxlan"},
		Pods: map[string]node.Pods{"n2": {at: "shop"}}})
	if pods := m.Pods(); pods["n2"][at] != "shop" {
		t.Errorf("with its network: %v", pods)
	}
	m.apply(node.Frame{Revision: 4, Moved: map[string]node.Pods{"n2": {at: ""}}})
	if pods := m.Pods(); len(pods) > 0 {
		t.Errorf("once it is gone: %v", pods)
	}
}
