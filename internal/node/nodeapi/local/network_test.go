package local_test

import (
	"net/netip"
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/store/records"
)

// TestWhatANodeSaysOfItsNetworkReachesOthers only where it changes what they have: proxies its address, and other nodes
// of a declared network its address and its key.
func TestWhatANodeSaysOfItsNetworkReachesOthers(t *testing.T) {
	const here, there = nodeapitest.Here, nodeapitest.There
	before := api.NetworkNodeStatus{Node: there, Address: netip.MustParseAddr("192.0.2.2"), Key: "a"}
	for name, tc := range map[string]struct {
		reason       string
		change       func(*api.NetworkNodeStatus)
		table, peers bool // what others get: ingresses and certificates, and a reason to look at the network
	}{
		"message": {"it is for people", func(s *api.NetworkNodeStatus) { s.Message = "b" }, false, false},
		"networks": {"they are for the servers", func(s *api.NetworkNodeStatus) {
			s.Taken = make([]netip.Prefix, 2)
		}, false, false},
		"key": {"packets are encrypted for it", func(s *api.NetworkNodeStatus) { s.Key = "b" }, false, true},
		"address": {"pods that share its node's network are reached there", func(s *api.NetworkNodeStatus) {
			s.Address = netip.MustParseAddr("192.0.2.3")
		}, true, true},
	} {
		for _, declared := range []bool{false, true} {
			w := nodeapitest.NewWorld(t)
			setup := records.NewTxn("test").Put(records.NetworkNodeKey(there), before).
				Put(records.SubnetsKey, api.Subnets{Nodes: map[string]netip.Prefix{there: netip.MustParsePrefix("10.80.4.0/22")}}).
				Put(records.NodeKey(here), api.NodeStatus{ID: here})
			if declared {
				setup.Put(records.ObjectKey(api.NetworkRef),
					api.Object{Kind: api.KindNetwork, Scope: api.Unscoped, Name: api.Network, Spec: []byte(`{}`)})
			}
			w.Commit(setup)
			listing := until(t, w, "", 0, 1)
			since, epoch := w.View.Revision(), listing[len(listing)-1].Epoch
			after := before
			tc.change(&after)
			w.Commit(records.NewTxn("test").Put(records.NetworkNodeKey(there), after))
			w.Commit(records.NewTxn("test").Put(records.NodeKey(here), api.NodeStatus{ID: here, Message: "the last"}))
			table, peers := false, false
			for _, frame := range until(t, w, epoch, since, w.View.Revision()) {
				table = table || frame.Table != nil
				peers = peers || slices.ContainsFunc(frame.Changes, func(c node.Change) bool { return c.Network })
			}
			if table != tc.table || peers != (tc.peers && declared) {
				t.Errorf("%s, with a network %v: %s: the table %v, the network %v", name, declared, tc.reason, table, peers)
			}
		}
	}
}
