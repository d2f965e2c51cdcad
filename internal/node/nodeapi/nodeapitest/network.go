package nodeapitest

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// networks: a node learns its own subnet and the way to each other node, as they come, change and go.
func networks(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	if got := c.Network(); got.Driver != "" || len(got.Peers) > 0 {
		t.Errorf("without a network: %+v", got)
	}
	becomes := func(reason string, holds func(node.Network) bool) {
		t.Helper()
		eventually(t, changes, func() (any, bool) {
			got := c.Network()
			return reason, holds(got)
		})
		changes.forget()
	}
	unscoped := api.Object{Kind: api.KindNetwork, Scope: api.Unscoped, Name: api.Network,
		Spec: []byte(`{"driver":"vxlan"}`)}
	w.Commit(records.NewTxn("test").Put(records.ObjectKey(api.NetworkRef), unscoped))
	becomes("it is declared", func(n node.Network) bool {
		return n.Driver == "vxlan" && n.Port == api.DefaultNetworkPort && !n.Subnet.IsValid()
	})
	here, there := netip.MustParsePrefix("10.80.0.0/22"), netip.MustParsePrefix("10.80.4.0/22")
	subnets := func(nodes map[string]netip.Prefix) {
		w.Commit(records.NewTxn("test").Put(records.SubnetsKey, api.Subnets{Nodes: nodes}))
	}
	subnets(map[string]netip.Prefix{Here: here})
	becomes("the node has a subnet", func(n node.Network) bool { return n.Subnet == here && len(n.Peers) == 0 })
	subnets(map[string]netip.Prefix{Here: here, There: there})
	peer := api.NetworkNodeStatus{Node: There, Address: netip.MustParseAddr("192.0.2.2"), Key: "k"}
	w.Commit(records.NewTxn("test").Put(records.NetworkNodeKey(There), peer))
	becomes("another node is reached", func(n node.Network) bool {
		return len(n.Peers) == 1 && n.Peers[There] == node.Peer{Address: peer.Address, Key: "k", Subnet: there}
	})
	peer.Address = netip.MustParseAddr("192.0.2.9")
	w.Commit(records.NewTxn("test").Put(records.NetworkNodeKey(There), peer))
	becomes("its address changed", func(n node.Network) bool { return n.Peers[There].Address == peer.Address })
	subnets(map[string]netip.Prefix{Here: here})
	becomes("it has no subnet any more", func(n node.Network) bool { return len(n.Peers) == 0 })
	w.Commit(records.NewTxn("test").Delete(records.ObjectKey(api.NetworkRef)))
	becomes("it is deleted", func(n node.Network) bool { return n.Driver == "" })
}

// podsOfOthers: with a network a node learns the addresses of the pods of others and their scopes, as they come, move
// and end, and the policy between scopes; its own pods it knows itself.
func podsOfOthers(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	becomes := func(reason string, holds func(node.Pods) bool) {
		t.Helper()
		eventually(t, changes, func() (any, bool) { return reason, holds(c.Pods()[There]) })
		changes.forget()
	}
	pod := func(id, on, address string, state api.TaskState) *records.Txn {
		task := api.Task{ID: id, Kind: api.KindDeployment, Scope: "shop", Name: "web", Slot: id, Node: on,
			Desired: api.DesiredRunning}
		return records.NewTxn("test").Put(records.TaskKey(id), task).Put(records.TaskStatusKey(id),
			api.TaskStatus{ID: id, Node: on, State: state, Address: address})
	}
	first, second := netip.MustParseAddr("10.80.4.2"), netip.MustParseAddr("10.80.4.3")
	w.Commit(records.NewTxn("test").Put(records.NodeKey(There), api.NodeStatus{ID: There}))
	w.Commit(pod("t1", There, first.String(), api.TaskRunning))
	w.Commit(pod("t2", Here, "10.80.0.2", api.TaskRunning))
	if got := c.Pods(); len(got) != 0 {
		t.Errorf("without a network: %v", got)
	}
	object := api.Object{Kind: api.KindNetwork, Scope: api.Unscoped, Name: api.Network,
		Spec: []byte(`{"allow":[{"from":["shop"],"to":["db"]}]}`)}
	w.Commit(records.NewTxn("test").Put(records.ObjectKey(api.NetworkRef), object))
	becomes("a network is declared", func(pods node.Pods) bool { return len(pods) == 1 && pods[first] == "shop" })
	if policy := c.Network().Policy; policy == nil || len(policy.Allow) != 1 || policy.Allow[0].To[0] != "db" {
		t.Errorf("the policy is %+v", policy)
	}
	if got := c.Pods()[Here]; len(got) != 0 {
		t.Errorf("its own pods come from the server: %v", got)
	}
	w.Commit(pod("t3", There, second.String(), api.TaskRunning))
	becomes("another pod runs", func(pods node.Pods) bool { return len(pods) == 2 && pods[second] == "shop" })
	w.Commit(pod("t3", There, "10.80.4.9", api.TaskRunning))
	becomes("it has another address", func(pods node.Pods) bool {
		return pods[second] == "" && pods[netip.MustParseAddr("10.80.4.9")] == "shop"
	})
	w.Commit(pod("t3", There, "10.80.4.9", api.TaskFailed))
	becomes("it has ended", func(pods node.Pods) bool { return len(pods) == 1 && pods[first] == "shop" })
	w.Commit(pod("t1", There, "127.0.0.1", api.TaskRunning))
	becomes("it shares its node's network", func(pods node.Pods) bool { return len(pods) == 0 })
	w.Commit(pod("t1", There, first.String(), api.TaskRunning))
	becomes("it has an address of its own", func(pods node.Pods) bool { return len(pods) == 1 })
	w.Commit(records.NewTxn("test").Delete(records.TaskKey("t1")).Delete(records.TaskStatusKey("t1")))
	becomes("it is gone", func(pods node.Pods) bool { return len(pods) == 0 })
	w.Commit(pod("t1", There, first.String(), api.TaskRunning))
	becomes("it is back", func(pods node.Pods) bool { return len(pods) == 1 })
	w.Commit(records.NewTxn("test").Delete(records.ObjectKey(api.NetworkRef)))
	becomes("the network is deleted", func(pods node.Pods) bool { return len(pods) == 0 })
}

func reportsOfNetwork(t *testing.T, w *World, c nodeapi.Control) {
	status := api.NetworkNodeStatus{Node: Here, Address: netip.MustParseAddr("192.0.2.1"), Connected: true,
		Key: strings.Repeat("A", 43) + "=", Message: strings.Repeat("x", 512), Taken: make([]netip.Prefix, boundary.MaxTaken)}
	if err := c.ReportNetwork(t.Context(), status); err != nil {
		t.Fatal(err)
	}
	if got := w.snapshot().NetworkNode(Here); !got.Exists() || got.Value.Address != status.Address {
		t.Errorf("%+v", got.Value)
	}
	status.Node = There
	if err := c.ReportNetwork(t.Context(), status); !errors.Is(err, node.ErrForbidden) {
		t.Errorf("another node's: %v", err)
	}
}

// resolves: a name stands for the pods that are ready, at addresses that containers reach: without a network those of
// the node alone, with one those of all nodes.
func resolves(t *testing.T, w *World, c nodeapi.Control) {
	w.Object(api.KindDeployment, "web", map[string]any{"image": "web:1"})
	w.Object(api.KindStatefulSet, "db", map[string]any{"image": "db:1"})
	pod := func(kind api.Kind, name, slot, on, address string, ready bool) {
		task := api.Task{ID: name + slot, Kind: kind, Scope: "prod", Name: name, Slot: slot, Release: "v1", Node: on,
			Desired: api.DesiredRunning}
		status := api.TaskStatus{ID: task.ID, Node: on, State: api.TaskRunning, Ready: ready, Address: address}
		w.Commit(records.NewTxn("test").CreateTask(task).Put(records.TaskStatusKey(task.ID), status))
	}
	for _, alive := range []string{Here, There} {
		w.Commit(records.NewTxn("test").Put(records.AliveKey(alive), alive))
	}
	pod(api.KindDeployment, "web", "a", Here, "10.80.0.2", true)
	pod(api.KindDeployment, "web", "b", There, "10.80.4.2", true)
	pod(api.KindDeployment, "web", "c", There, "10.80.4.3", false)
	pod(api.KindDeployment, "web", "d", There, "127.0.0.1", true)
	pod(api.KindStatefulSet, "db", "0", Here, "10.80.0.3", true)
	pod(api.KindStatefulSet, "db", "1", There, "10.80.4.4", true)
	if got, err := c.Resolve(t.Context(), "web.prod"); err != nil || !got.Known || texts(got.Addresses) != "10.80.0.2" {
		t.Errorf("without a network: %+v, %v", got, err)
	}
	w.Commit(records.NewTxn("test").Put(records.ObjectKey(api.NetworkRef),
		api.Object{Kind: api.KindNetwork, Scope: api.Unscoped, Name: api.Network, Spec: []byte(`{}`)}))
	for _, test := range []struct {
		name, want string
		known      bool
	}{
		{"web.prod", "10.80.0.2 10.80.4.2", true}, {"WEB.Prod.", "10.80.0.2 10.80.4.2", true},
		{"web.prod.tend", "10.80.0.2 10.80.4.2", true}, {"web.prod.voodu", "10.80.0.2 10.80.4.2", true},
		{"db.prod", "10.80.0.3 10.80.4.4", true}, {"db-1.prod", "10.80.4.4", true}, {"db-7.prod", "", true},
		{"web-a.prod", "", false}, {"api.prod", "", false}, {"web", "", false}, {"web.prod.example", "", false},
		{"example.org", "", false}, {".", "", false},
	} {
		got, err := c.Resolve(t.Context(), test.name)
		if err != nil || got.Known != test.known || texts(got.Addresses) != test.want {
			t.Errorf("%s: %+v, %v; want %s", test.name, got, err, test.want)
		}
	}
	w.Commit(records.NewTxn("test").Put(records.NetworkNodeKey(There),
		api.NetworkNodeStatus{Node: There, Address: netip.MustParseAddr("192.0.2.2")}))
	if got, err := c.Resolve(t.Context(), "web.prod"); err != nil ||
		texts(got.Addresses) != "10.80.0.2 10.80.4.2 192.0.2.2" {
		t.Errorf("a pod that shares its node's network: %+v, %v", got, err)
	}
}

func texts(addresses []netip.Addr) (out string) {
	slices.SortFunc(addresses, netip.Addr.Compare)
	for _, address := range addresses {
		if out != "" {
			out += " "
		}
		out += address.String()
	}
	return out
}
